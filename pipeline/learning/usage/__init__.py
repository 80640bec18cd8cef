"""Learn from past requests: `log`, `feedback` read them, `intents`, `weights` learn, `click_feedback` measures."""
