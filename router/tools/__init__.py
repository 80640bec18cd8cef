"""Tools as data: definitions read, text screened, Python functions described, the text of each field."""
