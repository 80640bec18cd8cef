"""Patterns of prompt injection: instructions to the model that writes expansions or ranks tools."""

from router.tools.trust.wording import NEAR, PROMPT, TELL, WHO, WRITE, Rows

# For every text.
INSTRUCTION: Rows = (
    (
        "ignore disregard forget override overrule bypass",
        rf"\b(?:ignore|disregard|forget|override|overrule|bypass)\b{NEAR}\b(?:previous|prior|above|earlier|preceding"
        r"|foregoing"
        rf"|initial|original|existing|system|your|these|those|all|any)\b{NEAR}\b(?:instruction|prompt|guideline"
        r"|guardrail|directive|constraint|system message)s?\b",
    ),
    (
        "ignore disregard forget override bypass",
        rf"\b(?:ignore|disregard|forget|override|bypass)\b{NEAR}\b(?:(?:previous|prior|preceding|foregoing|your"
        r"|system) rules?|(?:everything|anything|all)(?: (?:that|which))? (?:\w+ ){0,3}(?:above|before|told"
        r"|earlier))\b",
    ),
    (
        "instruction instructions directive directives",
        rf"\b(?:new|real|actual|updated|additional|special) (?:instruction|directive)s? (?:for|to) (?:you\b|(?:the "
        rf"|any |all )?{WHO}\b)",
    ),
    (
        "ai model models llm llms indexer annotator enricher",
        rf"\b(?:note|message|memo|attention|instructions?|orders?)\b:? ?(?:to|for)? ?(?:the |all |any )?{WHO}\b ?[:,]",
    ),
    (
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:the |all |everything |anything )*(?:above|prior|preceding"
        r"|context)(?= and\b|,|\.|:|;|$)",
    ),
    (
        "ignore disregard bypass override forget",
        r"\b(?:ignore|disregard|bypass|override|forget) (?:(?:all|any|your|every|previous|prior) )+(?:\w+ )?(?:rule"
        r"|guideline|protocol|restriction|filter|guardrail|polic(?:y|ie)|directive|command)s?\b",
    ),
    (
        "ignore override bypass disregard",
        r"\b(?:ignore|override|bypass|disregard) (?:safety|security|ethical|content) (?:rule|guideline|protocol"
        r"|restriction|filter|measure|instruction|polic(?:y|ie))s?\b",
    ),
    (
        "cancel nullify invalidate annul",
        r"\b(?:cancel|nullify|invalidate|annul) (?:all |the )?(?:previous|prior|above|earlier) (?:instruction"
        r"|command|prompt|directive)s?\b",
    ),
    (
        "ai model models assistant assistants llm llms annotator annotators",
        rf"^\W*(?:dear |attention |hey |hello |to the )?(?:{WHO}|assistants?)\b ?,|^\W*(?:ai|llm) ?:",
    ),
    ("ai model llm bot machine", r"\bif you(?: are|'re) (?:an? )?(?:ai|(?:large )?language model|llm|bot|machine)\b"),
    ("task", r"\b(?:your (?:next|new|real|actual|only|first)|the previous) task (?:is|was|now)\b"),
    (
        "treat regard consider read",
        r"\b(?:treat|regard|consider|read) this (?:object|tool|record|entry|json|text) as (?:the|an?|if)\b",
    ),
    (
        "phrase phrases queries synonyms expansion expansions",
        r"\b(?:when|while|before|by) (?:writing|generating|creating|producing) (?:\w+ )?(?:phrases?|example queries"
        r"|synonyms|expansions?)\b|\bin (?:every|each) phrase\b|\b(?:must|should|shall) (?:list|mention|include"
        r"|contain|name)\b" + NEAR + r"\b(?:user phrases|search phrases|example queries|synonyms)\b",
    ),
    (
        "correct right expected",
        r"\b(?:correct|right|expected) (?:answer|expansion|phrases?) (?:for|of) (?:this|the) tool\b",
    ),
    ("now longer", r"\byou(?: are|'re| will be|'ll be) (?:now|no longer)\b"),
    (
        "dan unrestricted uncensored evil different jailbroken rogue obedient",
        r"\byou are (?:dan|an? (?:unrestricted|uncensored|evil|different|jailbroken|rogue|obedient))\b",
    ),
    ("now", r"\bfrom now on\b,? (?:you|your|act|behave|answer|respond)\b"),
    (
        "act behave speak answer respond",
        r"\b(?:act|behave|speak|answer|respond) as (?:if you|though you|(?:if|though) (?:this|the) (?:tool|object)"
        r"|dan\b|an? (?:unrestricted|uncensored|evil|rogue|root|administrator|different|marketing|sales))",
    ),
    (
        "pretend role roleplay take assume",
        r"\b(?:pretend (?:that )?you(?: are|'re)(?: not)?|pretend to be|role ?play as|play the role of|(?:take on"
        r"|assume) the (?:role|persona|identity) of) (?:an? |the )?(?:\w+ )?(?:tool|ai|model|assistant|system"
        r"|developer|administrator|admin|marketer|salesman|salesperson|advertiser|copywriter|agent|engine)\b",
    ),
    ("character", r"\bstay in character\b"),
    ("mode", r"\b(?:dan|jailbreak|unrestricted|uncensored) mode\b"),
    ("mode", rf"\b(?:developer|god|dan|jailbreak) mode\b{NEAR}\b(?:enabled|on|activated|you)\b"),
    (
        "prompt prompts message messages instruction instructions",
        rf"\b{TELL}\b{NEAR}\b(?:the |your |this |its |any )?{PROMPT}\b",
    ),
    (
        "given received above verbatim word",
        rf"\b{TELL}\b{NEAR}\b(?:everything|all|the (?:text|words|message|prompt|instructions?)|instructions?"
        rf"|prompts?)"
        r" (?:you were given|you have been given|you received|above|verbatim|word for word|given to you)\b",
    ),
    ("what", r"\bwhat (?:are|were) your (?:\w+ )?(?:instructions|rules|prompt)\b"),
    (
        "answer response output reply expansion",
        r"\byour (?:entire |whole |full )?(?:answer|response|output|reply|expansion) (?:must|should|shall|has to"
        r"|needs to|is)\b",
    ),
    (
        "respond reply answer",
        r"\b(?:respond|reply|answer) (?:only |exactly |just )*with (?:only|exactly|just|nothing but|the (?:following"
        r"|words?|text)|these|this|json)\b",
    ),
    ("phrase phrases", rf"\b{WRITE} (?:\w+ ){{0,3}}?(?:user|search|trigger|example) phrases?\b"),
    (
        "phrase phrases request requests",
        rf"\b{WRITE} (?:only |exactly |just )?(?:the |these |this |following )+(?:\w+ )?(?:phrases?|requests)\b",
    ),
    (
        "must should shall following",
        r"\b(?:user phrases|when to use|related concepts|task categories) (?:must|should|shall|to the following)\b",
    ),
    (
        "tool tools",
        rf"\b(?:write|answer|expand|respond|generate|replace|overwrite|delete|change|set)\b{NEAR}\b(?:expansions?"
        r"|phrases|answers?|entry|entries|records?) (?:of|for) (?:the |every |all |any )?(?:other |another )?tools?\b",
    ),
    # Mentions of the generation of expansions: no vendor has a reason for them.
    (
        "phrase phrases queries",
        r"\b(?:phrases?|example queries) (?:that )?(?:you (?:write|produce|generate|create|output)|for this (?:entry"
        r"|tool|object) (?:is|are))\b|\bamong the phrases\b|\bevery phrase (?:you|must|should|has)\b",
    ),
    (
        "synonyms phrases use",
        r"\b(?:put|copy|write|place) (?:it|this|that|them|the \w+)(?: \w+){0,6} in(?:to)? (?:the )?(?:synonyms"
        r"|phrases|when to use)\b",
    ),
    ("model", r"\bas the (?:indexing|language|writing|ai) model\b"),
    ("catalog catalogue", r"\b(?:operator|owner|administrator|maintainer)s? of (?:this|the) catalog(?:ue)?\b"),
    (
        "guidance instructions task role",
        r"\byour (?:earlier|previous|former|prior|original) (?:guidance|instructions?|task|role)\b",
    ),
    ("assignment task role job", r"\b(?:new|next|real) (?:assignment|task|role|job) ?:"),
    ("end", r"\bend of (?:the )?(?:tool )?(?:description|data|input|object|record)\b ?[.:]"),
    ("override note", r"\b(?:admin|administrator|developer|system|operator) (?:override|note)\b(?: code)?[^.]{0,12}:"),
    ("imagine", r"\bimagine (?:that )?you(?: are|'re)\b"),
    ("now", r"\byou(?: are|'re) an? (?:\w+ ){1,3}now\b"),
    ("restrictions limits rules", r"\byou have no (?:restrictions|limits|rules)\b"),
    ("prompt", r"\b(?:complete|whole|entire) prompt\b"),
    (
        "describe",
        r"\b(?:do not|don't) describe (?:this|the) tool\b|\bdescribe (?:this|it) as (?:an? )?(?:\w+ )?(?:tool"
        r"|service|client)\b",
    ),
    # "Ignore the instructions" in the most common languages beside English.
    (
        "ignoriere ignoriert ignorieren vergiss ignore ignorez oubliez oublie ignora ignorad ignorar olvida ignorare "
        "dimentica esque\u00e7a negeer vergeet \u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439 "
        "\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439\u0442\u0435 \u0437\u0430\u0431\u0443\u0434\u044c",
        r"\b(?:ignorier\w*|vergiss|ignorez?|oublie[sz]?|ignora[dr]?e?|olvida|dimentica|esque\u00e7a|negeer|vergeet"
        r"|\u0438\u0433\u043d\u043e\u0440\u0438\u0440\u0443\u0439(?:\u0442\u0435)?"
        r"|\u0437\u0430\u0431\u0443\u0434\u044c)\b"
        rf"{NEAR}\b(?:pr\u00e9c\u00e8de|anweisung|instruc|istruzion|consigne|instruktion|instructie"
        r"|\u0438\u043d\u0441\u0442\u0440\u0443\u043a\u0446|\u0443\u043a\u0430\u0437\u0430\u043d)",
    ),
    ("ai", r"\bas an ai (?:language )?(?:model|assistant)\b"),
    (
        "tell inform notify alert mention",
        r"\bdo not (?:tell|inform|notify|alert|mention (?:this|it) to) the (?:user|operator|human)\b",
    ),
)

# For generated phrases only.
STRICT_INSTRUCTION: Rows = (
    (
        "prompt instructions",
        r"\b(?:my|your|the) (?:system |developer )?(?:prompt|instructions) (?:says?|said|reads?|is|are|was|were)\b",
    ),
    (
        "ai assistant assistants llm llms model models",
        r"\b(?:the )?(?:ai|assistant|llm|language model)s? (?:must|shall|has to|have to|is required to)\b",
    ),
    (
        "ignore disregard",
        r"\b(?:ignore|disregard) (?:the |all |any |every |my |your )?(?:\w+ )?(?:instruction|rule)s\b",
    ),
)
# For the text as it stands, not normalised: marks of chat turns, the keys of an expansion.
CHAT_MARK = (
    r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|</?(?:system|instructions?|important|admin|prompt|tool|data)>"
    r"|^\W{0,3}(?:system|assistant|human)\W? ?:|^\W{0,3}\[system\]|(?:\u5ffd\u7565|\u65e0\u89c6|\u5fd8\u8bb0"
    r"|\u7121\u8996|\u7121\u89c6|\u5fd8\u308c).{0,12}(?:\u6307\u4ee4|\u63d0\u793a|\u547d\u4ee4|\u6307\u793a"
    r"|\u5185\u5bb9)|(?:\u6307\u4ee4|\u547d\u4ee4|\u6307\u793a|\u63d0\u793a).{0,8}(?:\u7121\u8996|\u65e0\u89c6|\u5ffd\u7565|\u5fd8\u308c)"
    r"|(?:\uc9c0\uc2dc|\uba85\ub839).{0,6}\ubb34\uc2dc|\b(?:user_phrases|when_to_use|related_concepts"
    r"|task_categories)\b"
)
