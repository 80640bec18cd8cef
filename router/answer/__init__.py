"""The answer: what follows the fused list, what it costs in tokens, why each tool is there."""
