"""What somebody from outside may ask for at once."""

from router.search.search import MAX_REQUEST

# OpenAI takes no more tools than this, and a page of more is read by nobody.
MAX_K = 128
# Characters of a request or a message: no list reads past them.
MAX_TEXT = MAX_REQUEST
