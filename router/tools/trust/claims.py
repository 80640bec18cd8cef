"""Patterns of promotion (claims over other tools) and of defamation (accusations against other tools), and markup."""

from router.tools.trust.wording import MALICIOUS, NEAR, NEGATIVE, OTHER_WORDS, OTHERS, TOOL, USE, Rows

# Claims over other tools, or to every request. Advice to use this tool for its own purpose is legitimate.
PROMOTION: Rows = (
    (OTHER_WORDS, rf"\b(?:instead of|rather than|in place of|ahead of|over|above|not) {OTHERS} {TOOL}\b"),
    (
        "better superior preferable faster safer cheaper more",
        rf"\b(?:better|superior|preferable|faster|safer|cheaper|more \w+) (?:than|to) (?:{OTHERS} ?{TOOL}"
        r"|any(?:thing)? else|all (?:the )?(?:rest|others)|the competition|competitors?|web search"
        r"|the alternatives)\b",
    ),
    (
        "outperform outperforms beat beats replace replaces supersede supersedes surpass surpasses",
        rf"\b(?:(?:outperforms?|beats?|replaces|supersedes?|surpass(?:es)?) (?:{OTHERS}|every|all)|replace {OTHERS})"
        r" ?(?:\w+ )?(?:tool|api|server|integration|provider|app)s?\b",
    ),
    (
        "be",
        r"\b(?:must|should|has to) (?:always )?be (?:used|called|chosen|preferred|ranked) (?:instead|over"
        r"|first for (?:any|every|all)|for (?:any|every|all) (?:user )?(?:request|query|queries|task|question)s?)\b",
    ),
    (
        "anything everything any every all each",
        rf"\b{USE}\b{NEAR}\bfor (?:anything|everything|(?:any|every|all|each) (?:user |possible |kinds? of "
        r"|single )*(?:requests?|quer(?:y|ies)|tasks?|questions?|purposes?|prompts?|problems?))(?=[.,!;:]|\s*$"
        r"| (?:no matter|regardless|whatever|even))",
    ),
    (
        "rank score list place put sort return show prioritise prioritize",
        rf"\b(?:rank|score|list|place|put|sort|return|show|prioriti[sz]e)\b (?:this (?:tool|api|server)|us"
        rf"|our)\b{NEAR}"
        r"\b(?:first|highest|top|number one|above)\b",
    ),
    (
        "priority rank",
        r"\bthis (?:tool|api|server) (?:has|gets|deserves|takes) (?:the )?(?:highest|top|absolute) (?:priority"
        r"|rank)\b",
    ),
    (
        "1 number best greatest ultimate only",
        rf"(?:#1|\bnumber one|\bthe (?:single |very |absolute )?(?:best|greatest|ultimate"
        rf"|only)) (?:\w+ )?{TOOL} (?:for (?:everything"
        r"|anything|any|every|all)|in the world|ever|of all|on the market|you (?:will )?(?:ever )?need)",
    ),
    ("choice", r"\b(?:first|best|default|only) choice for (?:any|every|all)\b"),
    ("no any", rf"\b(?:no other {TOOL} (?:comes|can|is|does|has|will)|any {TOOL} but this)\b"),
    ("rank ranks", r"\b(?:should|must|always) rank (?:above|before|higher than|ahead of|over|first)\b"),
    ("whatever", r"\bwhatever the (?:request|question|query|task)\b"),
    (
        "whenever",
        r"\bwhenever (?:anybody|anyone|somebody|someone|the user|a user|users?) (?:asks?|says?"
        r"|wants?) (?:for )?(?:anything|something)\b",
    ),
    ("only", rf"\b(?:the )?only {TOOL} (?:that|which|you|worth|to)\b"),
)

# Accusations against other tools, or advice to avoid them. That an endpoint is deprecated is legitimate.
DEFAMATION: Rows = (
    (
        OTHER_WORDS,
        rf"\b(?:never|do not|don't|must not|should not|avoid|stop) (?:ever )?{USE} {OTHERS}(?: \w+)? ?{TOOL}?\b",
    ),
    (
        OTHER_WORDS,
        rf"\b{OTHERS} (?:\w+ )?{TOOL}\b{NEAR}\b(?:is|are|was|were|has been|have been) (?:\w+ ){{0,2}}?{NEGATIVE}\b",
    ),
)

# Accusations against something that may be no tool. Security tools speak of such things legitimately: a match does not
# count where ACCUSATION_EXCEPTION matches in the same sentence, before the end of the accusation.
ACCUSATION: Rows = (
    (
        "never not don't avoid stop",
        rf"\b(?:never|do not|don't|avoid|stop)\b{NEAR}\b(?:is|are|was|were|it's|they're|has been|have been|because"
        r"|since|as)\b"
        rf"{NEAR}\b{MALICIOUS}\b",
    ),
    ("unlike", rf"\bunlike \w+{NEAR}\b{MALICIOUS}\b"),
    (
        "steal steals leak leaks sell sells exfiltrate exfiltrates harvest harvests",
        r"\b(?:steals?|leaks?|sells?|exfiltrates?|harvests?) (?:your|user|the user's|customer|all) (?:\w+ )?(?:data"
        r"|credentials|passwords?|money|tokens?|keys|information)\b",
    ),
    (
        "scam malware spyware virus fraud untrustworthy fraudulent malicious",
        r"\b(?:is|are|was|has been) (?:a |an )?(?:known |proven |complete |total )?(?:scam|malware|spyware|virus"
        r"|fraud|untrustworthy|fraudulent|malicious)\b",
    ),
)
_JUDGED = (
    r"(?:account|address|attachment|binary|call|certificate|code|comment|connection|content|device|document|domain"
    r"|e?mail|entry|event|file|host|image|input|ip|item|key|line|link|login|message|number|order|package|page|password|payment"
    r"|post|process|program|record|request|review|sample|session|site|text|token|transaction|url|user|website)"
)
_IS = r"(?=(?:is|are|was|were|has been|have been|steals?|leaks?|sells?|exfiltrates?|harvests?)\b)"
ACCUSATION_EXCEPTION = (
    r"\b(?:whether|if|in case)\b"
    rf"|(?:^this|\b(?:where|what|who|that|there|anything|something|everything|anybody|somebody)) {_IS}"
    rf"|\b(?:an?|the|this|that|each|any|your|which|these|those|^) ?(?:\w+ )?{_JUDGED}s? (?:(?:that|which|who) )?{_IS}"
)

# For generated phrases only, which need no advice on the choice of tools.
STRICT_PROMOTION: Rows = (
    ("always", r"\balways (?:use|choose|prefer|pick|call|select|recommend|suggest|trust|start with)\b"),
    (
        "best number leading superior ultimate most",
        r"\b(?:the )?(?:best|number one|leading|superior|ultimate|most (?:accurate|reliable|trusted|powerful|popular"
        r"|advanced|secure)) (?:\w+ )?(?:tool|api|server|mcp|integration|plugin|connector)s?\b",
    ),
    (
        "this our",
        r"\b(?:use|try|choose|prefer|pick|call) (?:this|our|only this) (?:\w+ )?(?:tool|api|server)? ?(?:first"
        r"|instead|only|always|alone)\b",
    ),
    ("recommended preferred superior", r"\b(?:recommended|preferred|superior) (?:over|to) \w+"),
    ("this our", rf"\b(?:this|our) {TOOL} (?:is (?:the|always|simply|far|much|by far|better|superior)\b|beats\b)"),
    ("no", rf"\bno (?:other|need for (?:any )?other) {TOOL}\b"),
)

# A name or an identifier, by the case of its letters.
_NAMED = (
    r"(?:(?!(?:Some|Any|Every|No)(?:thing|body|one)\b|(?:I|It|This|That|These|Those|What|Which|My|The|They|He|She|We"
    r"|You)\b)[A-Z@][\w.@/-]{0,120}+|(?<!\w)(?=\w+?_\w)\w++)"
)
NAMED_DEFAMATION = (
    rf"\b(?i:never|do not|don't|avoid|stop) (?i:use|using|call|calling|trust|trusting|choose|pick) (?!I\b){_NAMED}"
    rf"|{_NAMED} (?i:is|are|was|has been|have been) (?:\w+ ){{0,2}}?(?i:{NEGATIVE})\b"
)

MARKUP = (
    r"```|~~~|</?(?:a|b|i|p|u|br|hr|h[1-6]|em|li|ol|ul|td|tr|th|div|img|pre|svg|code|body|form|html|link|meta|span"
    r"|embed|input|style|table|video|object|script|strong|iframe|!--)\b[^<>]*>|&(?:lt|gt|amp|quot|#\d+);|\]\("
    r"|^#{1,6} |\*\*\w|\{\{|\}\}|\$\{|<\||\|>|^\s*[{\[].*[}\]]\s*$|['\"]\s*(?:\)\s*)?;\s*(?:--|drop|delete|insert"
    r"|update|select|alter|create|attach|copy)\b|;\s*--"
)
