"""What people see: tables and pages on standard output, progress and notes on standard error."""
