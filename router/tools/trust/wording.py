"""Building blocks of the patterns of steering text, and the type of their tables."""

# Each row: words of which a text must hold one, then the pattern. The words are there for speed: texts without any skip
# the pattern. Patterns see lower case, with `_`, `-` and camel-case humps as spaces.
Rows = tuple[tuple[str, str], ...]

NEAR = r"[^.!?\n]{0,40}?"
OTHERS = r"(?:any|all|every|the|some)?\s?(?:other|another|competing|competitors?|rivals?|alternative)s?"
TOOL = (
    r"(?:tool|api|server|mcp|integration|provider|plugin|app|connector|assistant|option|choice|alternative|service)s?"
)
PROMPT = (
    r"(?:(?:system|developer) (?:prompt|message|instruction)|(?:hidden|secret|initial|original|own|full) (?:prompt"
    r"|instruction)|your (?:prompt|instruction))s?"
)
TELL = (
    r"(?:reveal|print|repeat|show|output|leak|echo|quote|paste|copy|reproduce|disclose|dump|recite|expose|include"
    r"|return|send|forward|submit|write|put|tell|translate|encode)"
)
WRITE = (
    r"(?:write|add|use|include|generate|output|produce|give|put|append|insert|list|emit|(?:answer|respond"
    r"|reply) with|return)"
)
USE = (
    r"(?:use|call|trust|choose|pick|select|recommend|invoke|rely on|suggest|using|calling|trusting|choosing"
    r"|relying on)"
)
WHO = r"(?:ai|model|language model|llm|indexer|annotator|enricher)s?"
NEGATIVE = (
    r"(?:unsafe|insecure|malicious|malware|spyware|a virus|a scam|scams?|fraudulent|untrustworthy|unreliable"
    r"|compromised|hacked|dangerous|harmful|defunct|discontinued|obsolete|broken|inferior|outdated|deprecated"
    r"|shut down|useless|slow)"
)
MALICIOUS = r"(?:unsafe|insecure|malicious|malware|spyware|a virus|a scam|fraudulent|untrustworthy|compromised|hacked)"
OTHER_WORDS = "other others another competing competitor competitors rival rivals alternative alternatives"
