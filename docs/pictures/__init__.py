"""Scripts that draw the pictures of the documents from the real thing; each writes its file beside itself."""
