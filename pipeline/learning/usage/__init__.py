"""Learn from past requests: `log` and `feedback` read them, `intents` and `weights` learn, `click_feedback` measures.

Of a feedback log `examination` estimates how likely a rank is looked at, and `relevance` what near requests say too.
"""
