"""Direct requests: `generator` starts a `session` over some questions, whose `client` sends each and retries it."""
