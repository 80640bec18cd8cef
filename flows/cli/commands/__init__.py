"""The commands, each thin: it parses, calls one function, draws the result; what is heavy is imported late."""
