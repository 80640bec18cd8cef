"""Learn from past requests: `log` reads them, `intents` and `weights` learn, `click_feedback` measures both."""
