"""Learn from past requests: `log` and `feedback` read them, `click_feedback` and `weights` learn from them."""
