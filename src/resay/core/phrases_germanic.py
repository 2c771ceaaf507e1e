"""Phrases for greetings, refusals and the like in English, German, Dutch and Nordic languages.

Each language has the fields of `Language`: polite phrases, excuses, refusals, referrals, the
beginnings of questions to the user, and words that claim something. A referral has six parts: words
before the verb, verbs of asking, people to ask, verbs of looking up, places to look, and others.
Swedish, Danish and Norwegian are combined, with the most common phrases and no referrals.
"""

ENGLISH = (
    r"""
    (?:hello|hi|hey|greetings|howdy|welcome)(?:\ (?:there|again|everyone|back|to\ you))?
    | good\ (?:morning|afternoon|evening|day|night|bye)|goodbye|bye(?:\ bye)?|farewell|cheers
    | (?:see|talk\ to)\ you(?:\ (?:soon|later|again|around))?|take\ care|until\ next\ time
    | (?:many\ |again\ )?(?:thanks|thank\ you)(?:\ (?:so|very)\ much|\ a\ lot|\ again|\ too)?
      (?:\ for\ (?:asking|reaching\ out|your\ (?:message|question|patience|help|time|feedback)))?
    | (?:you\ are|you\ are\ (?:very|most|always)|most)\ welcome|my\ pleasure|anytime
    | how\ are\ you(?:\ (?:doing|today|doing\ today))?|(?:and\ )?(?:how\ about\ )?you|what\ is\ up
    | i\ am\ (?:doing\ )?(?:fine|well|good|great|okay)(?:\ thank\ you|\ thanks)?
    | (?:it\ is\ )?(?:nice|great|good|lovely)\ to\ (?:meet|see|hear\ from)\ you(?:\ (?:too|again))?
    | have\ a\ (?:nice|great|good|lovely|wonderful)\ (?:day|evening|weekend|night|time|one)
      (?:\ too|\ ahead)?
    | i\ am\ (?:glad|happy)\ (?:i\ could|to)\ (?:help|assist|be\ of\ help)
    | i\ am\ here\ (?:to\ help|for\ you|to\ help\ you|to\ assist\ you|if\ you\ need\ me)
    | i\ would\ be\ (?:happy|glad)\ to\ (?:help|assist)(?:\ you)?
    | i\ am\ (?:here\ and\ )?(?:always\ )?ready\ to\ (?:help|assist|chat)(?:\ (?:you|with\ you))?
    | (?:how|what)\ (?:can|may|could)\ i\ (?:help|assist|do\ for)(?:\ you)?
      (?:\ (?:with|today|with\ today|now))?
    | is\ there\ (?:anything|something)(?:\ else)?\ (?:i\ can\ (?:help|assist|do)|you\ need)
      (?:\ (?:you|for\ you))?(?:\ with)?(?:\ today)?
    | (?:please\ )?(?:let\ me\ know|feel\ free\ to\ (?:ask|reach\ out|let\ me\ know))
      (?:\ if\ (?:you\ (?:have|need)|there\ is)\ (?:any|anything|more|some)
        (?:\ (?:other|further|more|else))?(?:\ (?:questions?|help|assistance))?)?
    | if\ you\ (?:have|need)\ (?:any|anything|more|some)(?:\ (?:other|further|more|else))?
      (?:\ (?:questions?|help|assistance))?
    | (?:(?:that|this)\ is\ )?(?:what\ )?(?:an?\ )?(?:very\ |really\ )?
      (?:great|good|excellent|interesting|fantastic|wonderful|nice)\ (?:question|one)
    | i\ (?:really\ )?hope\ (?:that|this|it)\ (?:was\ )?(?:helps?|helped|helpful|answers\ (?:your
      |the)
      \ question)(?:\ you)?|hope\ (?:that|this|it)\ helps|(?:i\ am\ )?(?:always\ )?(?:happy|glad)
      \ to\ (?:help|assist)
    | (?:please\ )?(?:let\ me\ know|feel\ free\ to\ (?:ask|reach\ out))(?:\ (?:me|anytime|again|more
      |(?:any\ )?(?:more|further|other|follow-up)\ questions))?(?:\ (?:if
      |should)\ you\ (?:would\ like|want|wish|need|have)\ .{1,60})?
    | is\ there\ anything\ else(?:\ {rest})?|would\ you\ like\ me\ to\ {rest}
    | enjoy|good\ luck|all\ the\ best|best\ (?:wishes|regards)
    | please|no\ (?:problem|worries|trouble)(?:\ at\ all)?|got\ it|understood|noted|sounds\ (?:good
      |great)
    | fair\ (?:enough|point)|good\ (?:catch|point|idea)|(?:that\ )?makes\ sense|well\ done
    | (?:that|this)\ is\ an?\ (?:\S+\ )?(?:great|good|excellent|fair|interesting|important|valid)
      \ (?:question|point|idea|topic|choice)
    | let\ (?:me|us)\ (?:explain|see|think|check|look|start|begin|break|walk|take|clarify|elaborate
      |summari[sz]e|help|dive|go)(?:\ {rest})?
    | does\ (?:that|this|it)\ (?:make\ sense|help|answer\ your\ question|work\ for\ you)
    | well|(?:it|that)\ (?:really\ |all\ )?depends
    | i\ hope\ (?:that|this|it|you|everything)\ {rest}
    | (?:please\ )?enjoy\ {rest}|(?:good|best\ of)\ luck(?:\ {rest})?|have\ (?:fun|a\ (?:\S+\ )?
      (?:trip|flight|stay|journey|holiday|vacation|meal|birthday|week|start))(?:\ {rest})?
    | (?:safe|happy)\ (?:travels?|trip|journey|reading|coding|cooking|baking|learning|hunting)
    | (?:stay|be|keep)\ safe|take\ (?:good\ )?care\ of\ yourself|congratulations(?:\ on\ {rest})?
    | (?:thanks|thank\ you)(?:\ (?:so|very)\ much)?\ for\ \S+ing(?:\ {rest})?
    | i\ (?:can|could|would\ be\ (?:glad|happy)\ to|am\ (?:glad|happy|here|ready)\ to
      |will\ (?:try|do\ my\ best)\ to)\ (?:also\ |certainly\ |gladly\ |try\ to\ )?
      (?:help|assist|explain|expand|elaborate|provide|give|share|go\ into|walk\ you|clarify
      |summari[sz]e|guide|adjust|tailor|answer)(?:\ {rest})?
    | (?:just\ |please\ )?let\ me\ know(?:\ {rest})?
    | (?:if|whenever)\ you\ (?:would\ like|want|wish|need|prefer)(?:\ {rest})?
    | i\ am\ here\ (?:if|whenever)\ {rest}|anything\ else(?:\ {rest})?
    | here\ (?:you\ (?:go|are)|it\ is|they\ are|we\ go)|as\ (?:requested|promised|you\ asked)
    | dear\ (?:\S+\ ){0,3}\S+|(?:kind|warm|many)\ regards|(?:yours\ )?sincerely|yours\ (?:truly
      |faithfully)|with\ (?:kind|best|warm)\ regards
    | (?:i\ am\ )?(?:glad|happy)\ (?:i\ could|to\ (?:have\ been\ of\ help|clarify
      |hear))(?:\ {rest})?
    | (?:please\ )?do\ not\ hesitate\ to\ (?:ask|reach\ out|contact\ me|let\ me\ know)(?:\ {rest})?
      |just\ ask
    | (?:if|should)\ you\ have\ (?:any\ )?(?:other\ |further\ |more\ )*questions?
    | (?:happy|glad)\ to\ (?:clarify|explain|elaborate|expand|provide)(?:\ {rest})?
    | here\ is\ (?:the\ answer|an?\ (?:short\ |brief\ )?(?:answer|overview
      |summary))(?:\ to\ your\ question)?
    | here\ is\ what\ i\ (?:found|know|have|can\ (?:say|tell\ you))|hi\ there
      |thanks\ for\ reaching\ out
    | (?:(?:do\ you\ )?(?:want|need)\ (?:to\ (?:hear|know|see)\ )?(?:anything|something
      |more)(?:\ else)?)
    | i\ trust\ (?:that|this|it)\ {rest}|i\ am\ always\ (?:here|happy|glad)\ to\ {rest}
    | (?:what\ )?(?:an?\ )?(?:fun|lovely|cool|thoughtful|tricky|tough)\ question
      |i\ appreciate\ your\ {rest}
    | (?:thanks|thank\ you)\ for\ (?:the|your)\ (?:question|note|interest)|let\ us\ get\ started
    | here\ is\ what\ you\ (?:asked\ for|requested|need)|your\ assistant
    """,
    r"""
    (?:important\ )?(?:note|disclaimer|reminder)
    | (?:(?:please\ )?(?:note|remember|be\ aware)\ that\ )?(?:this|the\ above
      |the\ following)\ (?:(?:is|does|should|must)\ not|is\ no)\ (?:be\ )?
      (?:(?:constitute|considered|taken\ as|meant\ as|intended\ as)\ )?(?:an?\ )?
      (?:substitute\ for\ )?(?:\w+\ ){0,2}(?:advice|recommendation
      |guidance)
    | (?:(?:please\ )?note\ that\ )?(?:this|the)\ (?:information|answer|response|overview)\ is
      \ (?:only\ )?(?:for|of)\ (?:an?\ )?(?:general|informational|educational)
      (?:\ (?:and|or)\ \w+)?\ (?:information|nature|purposes?)(?:\ only)?
    | (?:(?:please\ )?note\ that\ )?(?:this|my|the)\ (?:information|answer|knowledge|data)\ (?:may
      |might)\ (?:not\ be|be)\ (?:\w+\ )?(?:outdated|out\ of\ date|incomplete|inaccurate
      |up\ to\ date|up-to-date|accurate|complete|current)
    | i\ (?:may|might|can)\ (?:\w+\ )?(?:make\ mistakes|be\ wrong)|please\ (?:verify|double-check
      |check)\ (?:this|the|any|all)(?:\ \w+)?\ (?:information|answer|details?|facts)
    | (?:i\ am\ )?(?:very\ |so\ |really\ )?sorry(?:\ (?:about|for)\ (?:that|this
      |the\ inconvenience))?
    | (?:i|my)\ apologi[sz]es?(?:\ for\ (?:that|this|the\ (?:inconvenience|confusion)))?
    | unfortunately|i\ am\ afraid|regrettably|however|thank\ you\ for\ understanding
    | (?:as\ )?an\ ai(?:\ (?:language\ )?model|\ assistant)?|as\ a(?:\ large)?\ language\ model
    | i\ am\ (?:just\ |only\ )?an?\ (?:ai|(?:computer\ )?program|(?:chat)?bot|machine
      |large\ language\ model|ai\ (?:language\ model|assistant))
    | please\ (?:provide|give|share|clarify|specify|rephrase|try|let\ me\ know|tell\ me|ask)\ {rest}
    | please\ (?:clarify|rephrase|try\ again)(?:\ later)?
    | (?:i|my)\ (?:sincer(?:e|ely)\ )?apologi(?:[sz]e|es)(?:\ for\ {rest})?
    | (?:based\ on|according\ to|given|from)\ (?:the|your|these)\ (?:\S+\ ){0,2}(?:documents?
      |context|texts?
      |sources?|passages?|handbook|manual|excerpts?|information)(?:\ (?:provided|given|above))?
    """,
    r"""
    no\ (?:information|details?|data)\ (?:on|about|regarding|for)\ (?:\S+\ ){1,6}(?:is
      |are)\ (?:given
      |provided|available|included|mentioned)(?:\ in\ {rest})?
    | (?:i\ am\ (?:afraid|sorry)\ (?:that\ |but\ )?|sorry\ (?:that\ |but\ )?|unfortunately\ )?
      i\ (?:really\ |honestly\ )?(?:do\ not|did\ not|have\ not)\ (?:currently\ |really\ )?(?:have
      |find|found)(?:\ access\ to)?(?:\ (?:any|enough|sufficient|the|that|this|such|much))?
      (?:\ (?:specific|reliable|detailed|further|more|additional|personal|real-time|relevant))?
      \ (?:information|info|data|knowledge|details|records|access)
      (?:\ available)?(?:\ (?:about|on|regarding|of|for|to)\ {rest})?
    | i\ have\ no\ (?:information|data|knowledge|details|records|idea)
      (?:\ (?:about|on|regarding|of)\ {rest})?
    | i\ (?:can|could|did|do)\ not\ (?:find|see)(?:\ any)?\ (?:information|data|details|records
      |anything|mention|the\ answer|it|this|that)(?:\ (?:about|on|regarding|of|for|in)\ {rest})?
    | i\ (?:can|could|did|do)\ not\ (?:find|see)\ {rest}\ in\ (?:the|your|these
      |those)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?|pages?)
    | (?:the|your|these|those|this)\ (?:(?:provided|given|available|above|retrieved|supplied)\ )*
      (?:documents?|documentation|context|texts?|sources?|materials?|passages?|handbook|manual|guide
      |excerpts?|articles?|files?|pages?|knowledge\ base|information(?:\ (?:provided|given))?)
      (?:\ (?:provided|given|above))?\ (?:do|does|did)\ not\ (?:(?:actually|explicitly|really)\ )?
      (?:say|mention|contain|include|specify|state|provide|cover|tell|give|answer|discuss|address
      |list|indicate|describe)(?:\ (?:anything|any|this|that|it|the|enough|information|details
      |\S+ing))*(?:\ {rest})?
    | there\ is\ (?:no|not\ (?:any|enough))\ (?:information|mention|data|details?)
      (?:(?:\ (?:about|on|of|regarding|for)\ {rest})?\ in\ (?:the|your|these|those)\ (?:\S+\ ){0,2}
      (?:documents?|documentation|context|texts?|sources?|materials?|passages?|handbook|manual
      |excerpts?|pages?)|\ (?:about|on|of|for)\ (?:it|this|that|them))?
      (?:\ (?:here|available|provided))?
    | (?:that|this|it)\ is\ not\ (?:mentioned|stated|specified|covered|said|in)(?:\ {rest})?
    | (?:i\ am\ (?:afraid|sorry)\ (?:but\ )?|sorry\ (?:but\ )?)?i\ (?:can|could
      |will)\ not\ (?:help|assist|comply|answer|do|provide|give|share|discuss|offer
      |generate|create|write|access|fulfill)(?:\ {rest})?
    | i\ am\ (?:not\ able|unable)\ to\ (?:help|assist|comply|answer|do|provide|give|share|discuss
      |offer|generate|create|write|access|fulfill)(?:\ {rest})?
    | (?:i\ am\ afraid\ |sorry\ )?i\ (?:really\ |honestly\ )?do\ not\ know\ (?:who|what|when
      |where|why|how|which|if|whether)\ (?:\S+\ ){0,7}\S+
    | (?:i\ am\ afraid\ |sorry\ )?i\ (?:really\ |honestly\ )?do\ not\ (?:know|understand)
      (?:\ the\ answer|\ (?:that|this|your|the)\ question)?
      (?:\ to\ (?:that|this|your)(?:\ question)?)?
    | i\ am\ not\ sure|i\ am\ not\ (?:familiar\ with|aware\ of)\ {rest}
    | i\ am\ (?:not\ able|unable)\ to\ (?:access|browse|check|confirm|see|look|find|verify|recall
      |determine|predict|open|view|read)(?:\ {rest})?
    | i\ have\ no\ way\ of\ (?:knowing|telling|checking)(?:\ {rest})?
    | i\ would\ need\ (?:more|some|further)\ {rest}|(?:it|that)\ depends\ on\ what\ you\ mean
    | (?:\S+\ ){1,8}(?:is|are|was|were)\ not\ (?:\w+\ )?(?:mentioned|stated|specified|given|listed
      |provided|included|described|indicated|disclosed|covered|discussed|documented)(?:\ anywhere)?
      \ (?:in|by)\ (?:the|your|these|those|this)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?|pages?)
      (?:\ {rest})?
    | there\ (?:is|was|are)\ no\ (?:information|mention|details?|data|record)
      (?:\ (?:on|about|of|regarding)\ (?:\S+\ ){1,6})?\ ?(?:given\ )?in\ (?:the|your|these|those)
      \ (?:\S+\ ){0,2}(?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual
      |excerpts?|pages?)(?:\ (?:on|about|of|regarding|as\ to))?(?:\ {rest})?
    | i\ (?:was|am)\ (?:not\ able|unable)\ to\ (?:find|determine|confirm|tell|verify)\ {rest}
    | (?:that|this)\ (?:information|data|detail)\ is\ not\ (?:available|given|provided|mentioned
      |known|included)(?:\ {rest})?
    | there\ (?:is|are)\ (?:no|not\ any)\ (?:mention|indication)s?\ (?:of|about|as\ to)\ {rest}
    | i\ (?:found|see|have\ found)\ (?:no|not\ any)\ (?:mention|information|details?|data|reference
      |indication)(?:\ (?:of|on|about|to|regarding|as\ to)\ {rest})?
    | {rest}\ can\ not\ be\ (?:determined|found|inferred|derived|answered|established)
      \ (?:from|in|by|based\ on|using|with)\ (?:the|your|these|those|this)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?|pages?
      |information)(?:\ (?:provided|given|above|alone))?
    | (?:the|your|these|those|this)\ (?:\S+\ ){0,2}(?:documents?|context|texts?|sources?|materials?
      |passages?|handbook|manual|excerpts?|pages?)\ (?:(?:are|is|remains?|stays?)\ silent
      \ (?:on|about|as\ to)\ {rest}|(?:lacks?|omits?|leaves?\ out)\ (?:any\ )?(?:information
      |details?|data|mention)(?:\ (?:about|on|of|regarding)\ {rest})?|leaves?\ {rest}\ (?:open
      |unspecified|unanswered))
    | no\ {rest}\ (?:is|are)\ (?:given|mentioned|stated|specified|provided|listed)\ (?:in|by)
      \ (?:the|your|these|those|this)\ (?:\S+\ ){0,2}(?:documents?|context|texts?|sources?
      |materials?|passages?|handbook|manual|excerpts?|pages?)
    | not\ (?:mentioned|stated|specified|given|provided|covered|answered)(?:\ (?:in|by)\ {rest})?
    | there\ is\ nothing\ (?:about|on)\ (?:\S+\ ){1,4}in\ (?:the|your|these|those)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?)
    | (?:the|your|these|those)\ (?:\S+\ )?(?:documents?|context|texts?|sources?|passages?|handbook
      |manual|excerpts?)\ (?:gives?|contains?|has|have|provides?|mentions?)\ no\ {rest}
    | i\ (?:really\ |currently\ )?(?:can|could|do|did)\ not
      \ (?:actually\ )?(?:access|browse|check|confirm|see|look\ up|find|verify|recall|determine
      |predict|open|view|read|hear|have)\ {rest}
    | (?:that|this|it|the\ answer)\ (?:does\ not\ appear|is\ not\ (?:given|found|available
      |provided|listed|described|clear))(?:\ (?:in|from)\ {rest})?
    | (?:in|from|according\ to|based\ on)\ (?:the|your|these|those)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?)
      \ (?:there\ is\ no|nothing\ is\ said|no)\ {rest}
    | (?:nothing|no\ (?:information|details?))\ is\ (?:said|given|mentioned|provided|available)
      \ (?:in|about|on)\ {rest}|no\ (?:information|details?)\ (?:in|about|on)\ {rest}
    | (?:i\ am\ (?:afraid|sorry)\ (?:that\ |but\ )?)?i\ (?:\w+ly\ |just\ )?(?:can|could|will|may)
      \ not\ (?:\w+ly\ )?(?!(?:be|agree|see|find|stress|emphasi[sz]e|imagine|recommend\ it)\b){rest}
    | (?:i\ am\ (?:afraid|sorry)\ (?:that\ |but\ )?)?i\ (?:\w+ly\ )?(?:do|did)\ not\ (?:\w+ly\ )?
      (?:have|know|recogni[sz]e|recall|remember|understand|possess|retain|store|share|discuss
      |comment|speculate|hold|offer|provide|feel|own|follow)(?:\ {rest})?
    | i\ am\ not\ (?:\S+\ )?(?:certain|sure|aware|familiar|able|allowed|permitted|authori[sz]ed
      |qualified|equipped|capable|designed|programmed|trained|comfortable|in\ a\ position)
      (?:\ {rest})?
    | i\ am\ (?:not|no)\ (?:an?\ )?(?:\S+\ )?(?:doctor|physician|lawyer|attorney|expert|advis[eo]r
      |professional|therapist|accountant|human|person|pharmacist|veterinarian|specialist)
    | i\ (?:have|was)\ not\ (?:been\ )?(?:given|provided|told|trained|shown|able)(?:\ {rest})?
    | (?:i\ have\ )?no\ (?:idea|clue)|i\ have\ no\ (?:\S+\ )?(?:records?|memory|access|way|means
      |preferences?|opinions?|feelings?)(?:\ {rest})?
    | i\ will\ not\ be\ able\ to\ {rest}
    | (?:i\ am\ afraid\ )?i\ will\ not\ be\ able\ to\ {rest}
    | i\ (?:must|have\ to|will\ have\ to)\ (?:respectfully\ |politely\ )?(?:decline|refuse|pass)
      (?:\ {rest})?
    | i\ (?:would\ rather|prefer)\ not(?:\ {rest})?
    | without\ (?:seeing|knowing|more|further|additional)\ {rest}
    | (?:it|that)\ is\ (?:hard|difficult|impossible|tough)\ to\ (?:say|tell|know|answer
      |predict)(?:\ {rest})?
    | there\ (?:could|may|might)\ be\ (?:several|many|multiple|different|other)\ \S+\ (?:with|by
      |of)\ {rest}
    | i\ can\ only\ (?:help|assist|answer|talk|speak|discuss|respond|support)(?:\ {rest})?
    | (?:it|that|this)\ is\ (?:not\ possible|impossible|difficult|hard)\ for\ me\ to\ {rest}
    | (?:it|that|this)\ is\ (?:beyond|outside(?:\ of)?|out\ of)\ (?:my\ |the\ |our\ )?(?:\S+\ )?
      (?:\S+\ of\ )?(?:expertise|capabilit(?:y|ies)|abilit(?:y|ies)|scope|knowledge|remit)
      (?:\ {rest})?|(?:it|that|this)\ is\ (?:beyond|outside)\ what\ i\ can\ {rest}
    | (?:it\ is|i\ am)\ (?:unclear|not\ clear)\ (?:to\ me\ )?(?:what|which|who|where)\ you\ {rest}
    | your\ (?:question|request|message)\ is\ (?:\S+\ ){0,2}(?:vague|unclear|ambiguous|broad|short)
    | there\ is\ no\ (?:(?:widely|well|publicly)\ )?(?:(?:known|recorded|documented)\ )?\S+
      \ (?:by|with|under|of)\ (?:that|this)\ (?:name|title|description)
    | (?:that|this|the)\ (?:information|data|answer|detail)\ is\ not\ (?:\w+ly\ |yet\ )?(?:available
      |known|public|accessible|disclosed)(?:\ {rest})?|no\ (?:information|data|details?)
      \ (?:is|are)\ (?:\w+ly\ )?(?:available|known|given)
    | (?:that|this|it)\ would\ not\ be\ (?:appropriate|right|ethical|responsible)(?:\ {rest})?
    | i\ (?:can|could|did|do)\ not\ (?:find|see|locate)\ (?:any\ )?(?:\w+\ )?(?:details|information
      |mention
      |record)(?:\ (?:about|on|regarding|of)\ {rest})?
    | (?:that|this|it)\ is\ (?:not\ something|something)\ i\ (?:know|can(?:\ not)?)(?:\ {rest})?
    | i\ am\ not\ sure\ about\ (?:that|this|it)(?:\ one)?|i\ am\ drawing\ a\ blank(?:\ here)?
    | (?:nothing|none)\ (?:in|of)\ (?:the|your|these|those)\ (?:\S+\ ){0,2}(?:documents?|context
      |texts?
      |sources?|materials?|passages?|handbook|manual|excerpts?)\ (?:mentions?|says?|addresse?s?
      |covers?
      |answers?|states?|specif(?:y|ies)|indicates?|contains?)(?:\ {rest})?
    | neither\ (?:of\ (?:the|these)\ )?(?:documents?|texts?|sources?|passages?
      |excerpts?)\ (?:mentions?
      |says?|addresse?s?|covers?|answers?|states?|specif(?:y|ies)|indicates?)(?:\ {rest})?
    | (?:this|that|the|your)\ (?:question|answer|information)\ (?:can\ not
      |could\ not)\ be\ (?:answered
      |found|determined|given)(?:\ {rest})?
    | (?:it|this|that)\ (?:can|could)\ not\ be\ (?:answered|determined|inferred)(?:\ {rest})?
    | the\ (?:answer|information)\ is\ not\ (?:in|part\ of|given\ in|found\ in|present\ in)\ (?:the
      |your|these)
      \ (?:\S+\ ){0,2}(?:documents?|context|texts?|sources?|passages?|handbook|manual|excerpts?)
    | (?:based\ on|from|according\ to|given)\ (?:the|your|these)\ (?:\S+\ ){0,2}(?:documents?
      |context|texts?
      |sources?|passages?|handbook|manual|excerpts?|information)\ (?:alone\ )?(?:i|this|that
      |it)\ (?:can|could)
      \ not\ (?:be\ )?(?:answer|answered|determine|determined|say|tell|inferred|infer)(?:\ {rest})?
    | (?:the|these|this)\ (?:documents?|context|texts?|sources?|passages?|handbook|manual
      |excerpts?)\ (?:is|are)
      \ silent(?:\ on\ {rest})?|(?:that|this)\ goes\ against\ my\ {rest}
    | my\ (?:training\ data|knowledge)\ (?:does\ not\ (?:cover|include|extend)|only\ goes
      |only\ extends
      |ends|stops|has\ a\ (?:cutoff|cut-off)|is\ limited)(?:\ {rest})?
    | there\ is\ (?:no|not\ any)\ (?:reliable|specific|public|further
      |publicly\ available)\ (?:information
      |data|record)(?:\ {rest})?
    | i\ am\ not\ aware\ of\ any\ (?:\S+\ ){1,3}(?:that|which|who)\ (?:names?|mentions?|says?
      |states?|gives?
      |records?|lists?|describes?)\ (?:the|this|that|it|any)(?:\ \S+)?
    | (?:the|your|this|that|these)\ (?:\S+\ )?(?:documents?|context|texts?|sources?|materials?
      |passages?|handbook|manual|excerpts?
      |lease|contract|agreement|policy|report|letter|invoice|brochure|leaflet|email|transcript
      |minutes|memo|readme
      |datasheet|notes|attachment|faq|form|chapter|section|snippets?)\ (?:says?\ nothing|(?:do|does
      |did)\ not
      \ (?:(?:actually|explicitly|really|seem\ to)\ )?(?:say|mention|specify|state|address|discuss
      |indicate|tell))(?:\ {rest})?
    | (?:there\ is\ nothing\ (?:about|on)\ (?:\S+\ ){1,6}|(?:\S+\ ){1,8}(?:is|are|was
      |were)\ not\ (?:mentioned|stated
      |specified|addressed|discussed)\ (?:anywhere\ )?|i\ (?:can|could|did)\ not\ find\ any(?:thing
      |\ mention)\ (?:about|of|on)
      \ (?:\S+\ ){1,6})in\ (?:the|your|this|that|these)\ (?:lease|contract|agreement|policy|report
      |letter|invoice|brochure
      |leaflet|email|transcript|minutes|memo|readme|datasheet|notes|attachment|faq|form|chapter
      |section|snippets?)
    """,
    (
        r"""
        please|kindly|always|just|also|instead|or|consider|(?:be|make)\ sure\ to|remember\ to
        |do\ not\ hesitate\ to|you\ (?:should|may|might|can|could|must|will)(?:\ also)?
        (?:\ (?:want|wish|need)\ to)?|i\ (?:would\ )?(?:strongly\ |highly\ )?
        (?:recommend|suggest|advise)(?:\ (?:that\ )?you)?(?:\ to)?|it\ (?:is|may\ be|might\ be)
        \ (?:always\ |usually\ )?(?:best|important|advisable|wise|better|helpful|a\ good\ idea)\ to
        """,
        r"""
        contact(?:ing)?|call(?:ing)?|consult(?:ing)?|ask(?:ing)?|see(?:ing)?|visit(?:ing)?
        |(?:speak|talk)(?:ing)?\ (?:to|with)|reach(?:ing)?\ out\ to|turn\ to|go\ to
        |get(?:ting)?\ in\ touch\ with
        """,
        r"""
        doctors?|physicians?|pharmacists?|dentists?|therapists?|counsell?ors?|psychologists?|vet
        |veterinarians?|lawyers?|attorneys?|solicitors?|accountants?|professionals?|experts?
        |specialists?|advis[eo]rs?|technicians?|electricians?|mechanics?|plumbers?|contractors?
        |handyman|authorit(?:y|ies)|police
        |emergency|hotlines?|helplines?|support|customer\ service|staff|team|administrators?
        |supervisor|provider|manufacturer|retailer|seller|vendor|embassy|bank|employer|teacher
        """,
        r"""
        check(?:ing)?|visit(?:ing)?|see|try(?:ing)?|consult(?:ing)?|read(?:ing)?|review(?:ing)?
        |us(?:e|ing)|search(?:ing)?|brows(?:e|ing)|look(?:ing)?\ (?:at|up|on|it\ up)
        |refer(?:ring)?\ to|go\ to
        """,
        r"""
        websites?|sites?|web\ ?pages?|pages?|apps?|documentation|docs|manual|handbook|guides?
        |guidelines|sources?|news|forecasts?|internet|online|web|search\ engines?|databases?
        |encyclopa?edia|labels?|terms
        """,
        r"""
        (?:seek|get|obtain)(?:ing)?\ (?=.*\b(?:help|advice|assistance|attention|care|guidance
        |support|treatment|counsel|opinion)\b){rest}
        |(?:verify|confirm|double-check|cross-check)(?:ing)?\ (?:this|that|it|these|the\ \S+|with)
        (?:\ {rest})?
        |(?:if|should)\ you\ (?:are|feel|experience|have|notice|suspect|think|need)\ {rest}
        |for\ (?:more|further|accurate|current|specific|detailed|reliable|official|precise
        |personali[sz]ed|professional|(?:the\ )?(?:latest|best|most)|up-to-date)\ {rest}
        """,
    ),
    r"""
    (?:could|can|would|will|do|are|may|shall|should|have)\ (?:you|i|we)\ (?!know\b|aware\b|heard\b)
    | (?:what|which|how|where|when)\ (?:\S+\ ){0,4}(?:do|can|could|would|should|may|is|are)
      \ (?:you|your|i|we)\b
    | is\ there\ (?:anything|something)\b
    | anything\ (?:else|specific)\ (?:i|you)\b
    """,
    """
    that who whom whose which where when while because since although though however but as is are
    was
    were am be been being has have had did does do became born died won known called named founded
    despite also actually instead meaning
    """,
)

GERMAN = (
    r"""
    (?:hallo|hi|hey|servus|moin|grüezi|grüß\ gott|grüss\ gott|willkommen)(?:\ (?:zusammen|zurück))?
    | guten\ (?:morgen|tag|abend)|gute\ nacht|(?:auf\ )?wiedersehen|tschüss|bis\ (?:bald|dann
      |später)
    | (?:vielen\ |herzlichen\ |besten\ )?dank(?:e)?(?:\ (?:schön|sehr|dir|ihnen|für\ (?:die|ihre
      |deine)\ (?:nachfrage|frage|nachricht|geduld)))?
    | (?:sehr\ )?gern(?:e)?(?:\ geschehen)?|bitte(?:\ (?:schön|sehr))?|keine\ ursache
    | (?:und\ )?(?:wie\ geht\ es\ )?(?:dir|ihnen)(?:\ heute)?|wie\ geht's(?:\ dir)?
    | mir\ geht\ es\ (?:gut|prima)|es\ geht\ mir\ gut|(?:es\ )?freut\ mich
    | (?:ich\ wünsche\ (?:dir|ihnen)\ )?(?:einen\ )?schönen\ (?:tag|abend)(?:\ noch)?
    | (?:wie|womit)\ kann\ ich\ (?:dir|ihnen)(?:\ heute)?\ (?:helfen|behilflich\ sein|weiterhelfen)
    | kann\ ich\ (?:dir|ihnen)\ (?:sonst\ |noch\ )?(?:bei\ etwas|irgendwie|mit\ etwas)?\ ?helfen
    | was\ kann\ ich\ (?:heute\ )?für\ (?:sie|dich)\ tun
    | kann\ ich\ (?:sonst\ |dir\ |ihnen\ |noch\ |weiter\ ){0,4}(?:helfen|etwas\ tun)
    | (?:wenn|falls)\ (?:sie|du)\ (?:\S+\ ){0,4}(?:möchtest|möchten|brauchst|brauchen|willst
      |wollen|hast|haben|benötigst|benötigen)
    | (?:das\ ist\ )?(?:eine\ )?(?:sehr\ )?(?:gute|tolle|interessante|spannende)\ frage
    | (?:ich\ hoffe\ )?(?:das|dies)\ hilft(?:\ (?:dir|ihnen))?(?:\ weiter)?|ich\ hoffe
    | (?:sag(?:en?)?|meld(?:en?)?)\ (?:sie\ |dich\ )?(?:mir\ |sich\ )?(?:gern(?:e)?\ )?(?:bescheid
      |einfach)?|(?:wenn|falls)\ (?:sie|du)\ (?:noch\ |weitere\ )*(?:fragen\ )(?:haben|hast)
    | viel\ (?:erfolg|spaß)|(?:fragen\ sie|frag)\ (?:gern(?:e)?\ |einfach\ )*(?:nach|weiter)?
    | kein(?:e)?\ problem|verstanden|klingt\ gut|guter\ (?:punkt|hinweis)|gute\ (?:idee|reise|fahrt)
    | (?:das\ )?kommt\ (?:ganz\ )?darauf\ an|ergibt\ das\ sinn
    | lass(?:en)?\ (?:sie\ )?(?:mich|uns)\ (?:\S+\ ){0,5}(?:erklären|sehen|schauen|überlegen|prüfen)
    | ich\ hoffe\ (?:das|dies|es)\ {rest}|viel\ (?:freude|vergnügen)(?:\ {rest})?|guten\ appetit
    | ich\ (?:kann|könnte|helfe)\ (?:ihnen|dir)\ (?:gerne?\ )?(?:\S+\ ){0,5}(?:helfen|erklären|geben
      |weiter)|ich\ helfe\ (?:ihnen|dir)\ gerne?(?:\ weiter)?|melden\ sie\ sich\ gerne?
    | mit\ freundlichen\ grüssen|fragen\ sie\ gerne?|(?:gerne?\ )?helfe\ ich\ (?:ihnen
      |dir)(?:\ \S+){0,3}
    | (?:melden\ sie\ sich|melde\ dich)(?:\ (?:gerne?|jederzeit|einfach))*
    | (?:liebe|viele|beste|herzliche)\ grüsse|sehr\ geehrte[r]?\ {rest}
    | (?:wie|womit|wobei)\ (?:kann|darf)\ ich\ (?:(?:dir|ihnen|heute)\ )*(?:helfen|behilflich\ sein)
    | (?:es\ ist\ )?schön\ (?:von\ (?:dir|ihnen)\ zu\ (?:hören|lesen)|dich\ (?:kennenzulernen
      |zu\ sehen))
    | schön|dass\ (?:du\ fragst|sie\ fragen)|grüß\ dich|grüezi|sehr\ gerne?
    | ich\ konnte\ (?:dir|ihnen)\ (?:damit\ )?(?:\S+\ )?helfen|ich\ hoffe\ ich\ konnte\ {rest}
    | (?:das|dies)\ beantwortet\ (?:deine|ihre)\ frage|hier\ ist\ (?:die|meine
      |eine\ kurze)\ antwort(?:\ auf
      \ (?:deine|ihre)\ frage)?
    | (?:bei|für)\ (?:weiteren?|weitere)\ fragen?(?:\ (?:stehe|bin)\ ich\ {rest})?
    | (?:bei|für)\ (?:weiteren?)\ fragen?\ (?:melde|melden)\ {rest}
    | (?:hast\ du|haben\ sie)\ (?:noch\ )?(?:weitere\ )?fragen|lass\ es\ mich\ wissen
      |jederzeit\ wieder
    | ich\ helfe\ gerne?\ weiter|schönen\ (?:tag|abend)\ noch
    """,
    r"""
    hinweis|wichtig|haftungsausschluss
    | (?:dies|das|es)\ (?:ist|stellt|ersetzt)\ (?:keine?n?|nicht)\ (?:\S+\ ){0,3}\S*(?:beratung
      |empfehlung|diagnose)(?:\ dar)?|(?:alle|diese|die)\ angaben
      \ (?:(?:sind|erfolgen)\ )?ohne\ gewähr
    | (?:es\ )?tut\ mir\ (?:sehr\ )?leid|entschuldigung|(?:ich\ bitte\ um\ )?verzeihung|leider
    | als\ ki(?:-(?:sprachmodell|modell|assistent))?|bitte\ (?:geben|gib|nennen|nenne)\ {rest}
    | ich\ entschuldige\ mich(?:\ für\ {rest})?|entschuldigen\ sie\ {rest}
    """,
    r"""
    (?:ich\ habe|habe\ ich|mir\ liegen)\ (?:leider\ )?(?:keine?|keinen)\ (?:genauen\ |näheren\ )?
      (?:informationen|daten|angaben|kenntnisse?|zugriff|ahnung|details)
      (?:\ (?:über|zu|zum|zur|von|auf)\ {rest})?(?:\ (?:vor|finden))?
    | (?:der|die|das|den|diese|dieser|dem)\ (?:(?:bereitgestellten?|vorliegenden?|angegebenen?)\ )*
      (?:dokumente?n?|unterlagen|kontext|texte?|quellen?|handbuch|anleitung|auszug|auszüge)
      \ (?:enthält|enthalten|erwähnt|erwähnen|sagt|sagen|nennt|nennen|gibt|geben|steht|stehen)
      \ (?:dazu\ |darüber\ |hierzu\ )?(?:nichts|nicht|keine?n?)(?:\ {rest})?
    | (?:dazu|darüber|hierzu)\ (?:steht|sagt|sagen|enthält|enthalten|gibt)\ {rest}
    | (?:im|in\ (?:den|der|dem|diesen))\ (?:\S+\ ){0,2}
      (?:dokumente?n?|unterlagen|kontext|texte?n?|quellen?|handbuch|anleitung|auszug|auszügen)
      \ (?:steht|stehen|wird|werden|ist|sind|gibt\ es|findet\ sich|finden\ sich|fehlt)
      \ (?:dazu\ |darüber\ |hierzu\ |leider\ )?(?:nichts|nicht|keine?n?)(?:\ {rest})?
    | (?:dazu|darüber|hierzu|das)\ (?:steht|geht|gibt\ es|wird|lässt\ sich|ist|kann\ ich)
      \ (?:leider\ )?(?:(?:aus|im|in|den|dem|der|diesen)\ ){0,2}(?:\S+\ )?
      (?:nichts|nicht|keine?n?)(?:\ {rest})?
    | (?:ich\ kann|kann\ ich)\ (?:\S+\ ){0,5}nicht\ (?:entnehmen|finden|sagen|abrufen|einsehen
      |bestätigen|prüfen|sehen|wissen|beurteilen)
    | ich\ habe\ (?:leider\ )?(?:keine?n?|nicht)\ {rest}
    | (?:dazu|darüber|hierzu|davon)\ (?:habe\ ich|liegen\ mir|gibt\ es|ist\ mir)\ (?:leider\ )?
      (?:keine?n?|nichts)(?:\ {rest})?
    | (?:\S+\ ){1,6}(?:wird|werden|ist|sind)\ (?:in|im)\ (?:den\ |dem\ |diesen\ )?(?:\S+\ ){0,2}
      (?:dokument(?:e|en)?|kontext|text(?:e|en)?|quellen?|handbuch|auszügen?|unterlagen)
      \ nicht\ (?:erwähnt|genannt|angegeben|beschrieben|aufgeführt|enthalten)
    | (?:\S+\ ){1,6}(?:geht|gehen|lässt\ sich|lassen\ sich)\ aus\ (?:den|dem|der|diesen|diesem)
      \ (?:\S+\ ){0,2}(?:dokument(?:e|en)?|kontext|text(?:e|en)?|quellen?|handbuch|auszügen?
      |unterlagen)\ nicht\ (?:hervor|entnehmen|ableiten|ersehen)
    | das\ weiß\ ich\ (?:leider\ )?nicht(?:\ genau)?|ich\ bin\ (?:mir\ )?(?:\S+\ )?nicht\ sicher
    | es\ gibt\ (?:dazu\ |darüber\ |hierzu\ )?keine\ (?:informationen|angaben|hinweise)(?:\ {rest})?
    | (?:das\ )?wei(?:ß|ss)\ ich\ (?:leider\ )?nicht
    | ich\ wei(?:ß|ss)\ (?:es\ |das\ )?(?:leider\ )?nicht
    | (?:(?:dabei|damit|das)\ )?(?:ich\ kann|kann\ ich)\ (?:(?:ihnen|dir|das|diese|frage|dabei|damit
      |leider|hierbei)\ ){0,4}nicht\ (?:helfen|weiterhelfen|beantworten|tun|behilflich\ sein)
    | (?:(?:leider|da|hier|das|dazu|darüber|dabei|hierzu)\ )?(?:ich\ (?:kann|darf|könnte|werde
      |möchte)
      |(?:kann|darf|möchte|werde)\ ich)\ (?:\S+\ ){0,7}(?:nicht|nichts|keine?[nrsm]?)(?:\ {rest})?
    | (?:(?:leider|dazu|davon|darüber|das)\ )?(?:ich\ (?:habe|kenne|finde|besitze|verstehe|verfüge)
      |(?:habe|kenne|finde|verstehe)\ ich)\ (?:\S+\ ){0,5}(?:nicht|nichts
        |keine?[nrsm]?)(?:\ {rest})?
    | (?:\S+\ ){1,4}(?:ist|sind)\ mir\ (?:leider\ )?nicht\ bekannt
    | ich\ bin\ (?:\S+\ )?(?:kein|keine|nicht)\ {rest}|keine\ ahnung
    | (?:das|dies|es)\ (?:liegt|geht)\ (?:leider\ )?(?:ausserhalb|über)\ {rest}
    | (?:diese|die)\ (?:informationen?|angaben?)\ (?:ist|sind|liegt|liegen)\ (?:mir\ )?nicht\ {rest}
    | (?:leider\ )?(?:liegen|liegt)\ mir\ (?:(?:dazu|darüber|hierzu|leider)\ )*(?:keine?)\ {rest}
    | (?:dazu|darüber|hierzu|das)\ ist\ mir\ (?:leider\ )?nicht(?:s)?\ bekannt
      |da\ muss\ ich\ (?:leider\ )?passen
    | (?:(?:dazu|darüber|hierzu|leider)\ )*(?:ich\ konnte|konnte\ ich)\ (?:\S+\ ){0,4}(?:nichts
      |keine?n?|nicht)
      (?:\ \S+)?\ (?:finden|entnehmen|ermitteln|feststellen)
    | (?:der|die|das|den|diese|dieser)\ (?:(?:bereitgestellten?|vorliegenden?
      |angegebenen?)\ )*(?:dokumente?n?
      |unterlagen|kontext|texte?|quellen?|handbuch|anleitung|auszug|auszüge)\ (?:macht|machen
      |liefert|liefern
      |enthält|enthalten|geben|gibt)\ (?:(?:dazu|darüber|hierzu)\ )?(?:keine?)\ (?:angaben?|auskunft
      |information\w*
      |hinweis\w*)(?:\ {rest})?
    | (?:im|in\ (?:den|der|dem|diesen))\ (?:\S+\ ){0,2}(?:dokumente?n?|unterlagen|kontext|texte?n?
      |quellen?
      |handbuch|anleitung|auszug|auszügen)\ (?:wird|werden|ist|sind)\ (?:das|dies|es|dazu|darüber
      |der|die)
      \ (?:\S+\ ){0,2}nicht\ (?:erwähnt|genannt|angegeben|beschrieben|enthalten)
    | (?:diese|die|deine|ihre)\ (?:frage|anfrage)\ (?:lässt\ sich|kann\ ich
      |kann)\ (?:\S+\ ){0,5}nicht\ {rest}
    | aus\ (?:dem|den|diesem|diesen)\ (?:\S+\ )?(?:dokumente?n?|unterlagen|kontext|texte?n?|quellen?
      |handbuch
      |auszug)\ geht\ (?:das|dies|es)\ (?:leider\ )?nicht\ hervor
    | bei\ (?:dieser|deiner|ihrer)\ (?:anfrage|frage|bitte)\ kann\ ich\ {rest}
    | (?:der|die|das|dieser|diese)\ (?:\S*vertrag|bericht|brief|rechnung|broschüre|richtlinie
      |protokoll|merkblatt|e-mail)
      \ (?:(?:sagt|enthält)\ (?:(?:dazu|darüber)\ )?(?:nichts|keine\ (?:angaben?|regelung\w*))
      |erwähnt\ (?:das|dies|es)
      \ nicht)(?:\ {rest})?
    | (?:im|in\ (?:der|dem|diesem))\ (?:\S*vertrag|bericht|brief|rechnung|broschüre|richtlinie
      |protokoll|merkblatt|e-mail)
      \ (?:steht|findet\ sich)\ (?:dazu\ |darüber\ )?nichts(?:\ {rest})?
    | (?:\S+\ ){1,4}(?:wird|werden)\ (?:im|in\ (?:der|dem|diesem))\ (?:\S*vertrag|bericht|brief
      |rechnung|broschüre
      |richtlinie|protokoll|merkblatt)\ nicht\ (?:erwähnt|genannt|geregelt)
    | dazu\ finde\ ich\ (?:\S+\ ){0,4}nichts|zu\ (?:\S+\ ){1,4}macht\ (?:der|die
      |das)\ \S+\ keine\ angaben
    """,
    (
        r"""
        bitte|am\ besten|immer|auch|dann|sie\ (?:sollten|können|könnten)|du\ (?:solltest|kannst
          |könntest)
        |ich\ (?:empfehle|rate)(?:\ (?:ihnen|dir))?|es\ ist\ (?:\S+\ )?(?:ratsam|besser|wichtig)
        """,
        r"""
        (?:wende|kontaktiere|frage?|konsultiere|rufe?)n?(?:\ (?:sie|du|dich|sich))*(?:\ an)?|sprich
          |sprechen
        """,
        r"""
        arzt|ärztin|apothekerin?|apotheke|anwalt|anwältin|fachmann|fachfrau|fachperson(?:al)?
          |experten?
        |expertin|spezialisten|behörden?|polizei|notruf|kundendienst|kundenservice|support
          |hersteller
        |händler|anbieter|berater|fachleute|notdienst|krankenhaus
        """,
        r"""
        (?:prüfe|besuche|schaue|lies|lese|suche|konsultiere|informiere|siehe?|nutze|überprüfe)n?
        (?:\ (?:sie|du|dich|sich))*
        """,
        r"""
        \w*website|\w*webseiten?|\w*seiten?|\w*app|\w*dokumentation|\w*handbuch|\w*anleitung
          |\w*quellen?
        |nachrichten|internet|\w*suchmaschine|online|\w*wetterdienst|web
        """,
        r"""
        (?=.*(?:arzt|anwalt|experten|fachmann|profi|website|webseite|handbuch|quelle))
        (?:\S+\ ){1,6}zu\ (?:konsultieren|fragen|kontaktieren|besuchen|prüfen|lesen|wenden|suchen)
        |(?:weitere|mehr|aktuelle|genaue)\ (?:informationen|details|angaben)\ (?:finden\ sie
          |findest\ du
        |gibt\ es)(?:\ \S+){1,6}|ich\ (?:empfehle|rate)(?:\ (?:ihnen|dir))?
        |(?:für|zu)\ (?:weitere[nr]?|aktuelle[nr]?|genaue(?:re)?[nr]?|mehr)\ {rest}
        """,
    ),
    r"""
    (?:können|könnten|kannst|könntest|möchten|möchtest|würden|würdest|wollen|willst|meinen|meinst
      |brauchen|brauchst|benötigen|benötigst|soll|darf|kann)\ (?:sie|du|ich)\b
    | (?:was|welche[nrsm]?|wie|wo|wann|worüber|wobei|womit)\ (?:\S+\ ){0,4}(?:sie|du|ich|ihnen
      |dir)\b
    | (?:worum|um\ was)\ geht\ es\b
    """,
    """
    ist sind war waren hat hatte hatten wurde wurden wird geboren starb gewann dass weil da der
    welcher welche welches wo obwohl aber jedoch denn gewusst
    """,
)

DUTCH = (
    r"""
    (?:hallo|hoi|hey|hi|dag|welkom)(?:\ (?:allemaal|daar|terug))?
    | goede(?:morgen|middag|navond|nacht)|goeden?\ (?:morgen|middag|avond|dag)|welterusten
    | tot\ (?:ziens|straks|later|snel)|doei
    | (?:heel\ erg\ |hartelijk\ )?(?:bedankt|dank\ (?:je|u)(?:\ wel)?)
      (?:\ voor\ (?:het\ vragen|uw\ vraag|je\ vraag))?
    | graag\ gedaan|geen\ dank|alsjeblieft|alstublieft|aangenaam
    | (?:dat\ is\ )?(?:een\ )?(?:heel\ )?(?:goede|leuke|interessante)\ vraag
      |(?:ik\ hoop\ dat\ )?dit\ (?:je\ |u\ )?helpt|ik\ hoop\ dat\ dit\ (?:je\ |u\ )?helpt
      |veel\ succes
    | laat\ (?:het\ )?(?:me|mij)\ (?:gerust\ )?weten\ (?:als|of)\ .{1,40}
    | hoe\ (?:gaat\ het|is\ het)(?:\ met\ (?:je|u|jou))?|(?:het\ gaat|met\ mij\ gaat\ het)\ goed
    | en\ (?:met\ )?(?:jou|u|jij)|(?:een\ )?(?:fijne|prettige)\ (?:dag|avond)(?:\ (?:nog|verder))?
    | (?:hoe|waarmee|waar)\ kan\ ik\ (?:je|u|jou)?\ ?(?:vandaag\ )?(?:mee\ )?
      (?:helpen|van\ dienst\ zijn)(?:\ vandaag)?
    | geen\ probleem|begrepen|goed\ (?:punt|idee)|goede\ reis|eet\ smakelijk
      |(?:dat\ )?hangt\ ervan\ af
    | laat\ (?:me|mij|ons)\ (?:\S+\ ){0,4}(?:uitleggen|kijken|nadenken|controleren)
    | ik\ (?:kan|help|wil)\ (?:je|u)\ (?:graag\ )?(?:\S+\ ){0,5}(?:helpen|uitleggen|geven|verder)
    | als\ (?:je|u)\ (?:\S+\ ){0,5}(?:wilt|wil|hebt|heeft|nodig)|met\ vriendelijke\ groeten?
      |alsjeblieft
    | ik\ hoop\ {rest}|veel\ plezier(?:\ {rest})?
    """,
    r"""
    (?:let\ op|disclaimer)
    | (?:dit|het|deze\ informatie)\ (?:is|vormt)\ geen\ (?:\S+\ ){0,2}advies
    | (?:het\ )?spijt\ me|sorry|excuses|mijn\ excuses|pardon|helaas
    | als\ (?:ai(?:-(?:taalmodel|model|assistent))?|taalmodel)
    | (?:geef|verstrek|verduidelijk)\ (?:alstublieft|alsjeblieft)\ {rest}
    | (?:mijn\ )?excuses\ voor\ {rest}|ik\ bied\ mijn\ excuses\ aan(?:\ {rest})?
    """,
    r"""
    (?:ik\ heb|heb\ ik)\ (?:helaas\ )?(?:geen|niet\ genoeg)\ (?:informatie|gegevens|details
      |toegang|idee)(?:\ (?:over|van|tot)\ {rest})?
    | (?:de|het|deze|dit)\ (?:documenten|document|context|tekst(?:en)?|bronnen|bron|handleiding
      |handboek)\ (?:zegt|zeggen|vermeldt|vermelden|bevat|bevatten|noemt|noemen)
      \ (?:daar\ |hier\ )?(?:niets|niet|geen)(?:\ {rest})?
    | er\ (?:is|staat|wordt)\ (?:geen\ (?:informatie|vermelding|gegevens)|niets)\ {rest}
    | (?:dat|dit)\ (?:staat|wordt|blijkt)\ niet\ {rest}|dat\ is\ niet\ bekend
    | (?:dat|dit)\ (?:kan\ ik|weet\ ik)\ (?:helaas\ )?niet(?:\ \S+)?
    | ik\ heb\ (?:daar|hier)(?:over)?\ (?:helaas\ )?geen\ {rest}
    | (?:de|het)\ (?:tekst|context|document|documenten|handleiding)\ (?:vermeldt|vermelden|zegt
      |noemt)\ (?:dit|dat|daar|het)\ niet
    | in\ (?:de|het|deze)\ (?:context|documenten|document|tekst(?:en)?|bronnen|handleiding)
      \ (?:staat|wordt|is|staan)\ (?:daar\ )?(?:niets|niet|geen)(?:\ {rest})?
    | (?:ik\ heb|heb\ ik)\ (?:helaas\ )?(?:geen|niet)\ {rest}
    | (?:\S+\ ){1,8}(?:wordt|worden|staat|staan|is|zijn)\ (?:niet(?:\ vermeld|\ genoemd)?\ in\ (?:de
      |het|deze)\ (?:context|documenten|document|tekst(?:en)?|bronnen|handleiding)(?:\ vermeld)?
      |in\ (?:de|het|deze)\ (?:context|documenten|document|tekst(?:en)?|bronnen|handleiding)\ niet
      \ (?:vermeld|genoemd|beschreven))
    | (?:ik\ kan|kan\ ik)\ (?:\S+\ ){0,6}niet\ (?:vinden|zien|zeggen|bevestigen|opzoeken
      |controleren|raadplegen|weten)
    | (?:dat\ )?(?:ik\ weet|weet\ ik)\ (?:het\ |dat\ )?(?:helaas\ )?niet
    | (?:(?:daar|hier)\ )?(?:ik\ kan|kan\ ik)\ (?:(?:je|u|dat|deze|vraag|helaas|daar|hier)\ ){0,4}
      niet\ (?:mee\ )?(?:helpen|bij\ helpen|beantwoorden|doen)
    | (?:(?:helaas|daar|hier|dat)\ )?(?:ik\ (?:kan|mag|zal|wil|heb|ken|begrijp|vind)
      |(?:kan|mag|heb|ken|begrijp|vind)\ ik)\ (?:\S+\ ){0,6}(?:niet|niets|geen)(?:\ {rest})?
    | ik\ weet\ (?:het|dat)\ niet\ zeker|ik\ ben\ (?:\S+\ )?(?:geen|niet)\ {rest}|geen\ idee
    | (?:dat|dit)\ valt\ buiten\ {rest}|(?:deze|die)\ informatie\ is\ niet\ {rest}
    | (?:ik\ kon|kon\ ik)\ (?:\S+\ ){0,4}(?:niets|geen|niet)(?:\ \S+){0,3}\ (?:vinden|achterhalen)
    | (?:de|het|deze|dit)\ (?:documenten|document|context|tekst(?:en)?|bronnen|bron|handleiding
      |handboek)\ (?:geeft
      |geven|bevat|bevatten)\ (?:(?:hier|daar)\ )?geen\ (?:informatie|gegevens|details
      |antwoord)(?:\ {rest})?
    """,
    (
        r"""
        alstublieft|alsjeblieft|altijd|ook|het\ is\ (?:beter|verstandig|raadzaam
          |belangrijk)(?:\ om)?|(?:je|u)
        \ (?:kunt|kan|moet|zou)(?:\ (?:het\ beste|moeten))?|ik\ (?:raad|adviseer)(?:\ (?:je
          |u))?(?:\ aan)?(?:\ om)?
        """,
        r"""
        (?:raadpleeg|bel|vraag|neem\ contact\ op\ met|contacteer|ga\ naar|spreek\ met|praat\ met)
        """,
        r"""
        (?:huis)?arts|dokter|apotheker|advocaat|professional|deskundigen?|expert|specialist
          |autoriteiten
        |politie|hulpdiensten|noodnummer|klantenservice|helpdesk|fabrikant|verkoper|leverancier
        """,
        r"""
        (?:raadpleeg|bekijk|bezoek|controleer|kijk\ op|lees|zoek|gebruik|zie)
        """,
        r"""
        websites?|site|pagina|app|documentatie|handleiding|gids|bronn?(?:en)?|internet|online
          |zoekmachine
        |nieuws|weerbericht
        """,
        r"""
        voor\ (?:meer|actuele|verdere|nauwkeurige)\ {rest}
        """,
    ),
    r"""
    (?:kunt|kun|kan|zou|wilt|wil|bedoelt|bedoel|mag|zal|hebt|heb|heeft)\ (?:u|je|jij|ik)\b
    | (?:wat|welke|hoe|waar|wanneer|waarmee|waarover)\ (?:\S+\ ){0,4}(?:u|je|jij|ik|uw|jouw)\b
    """,
    """
    die dat wie waar omdat want is zijn was waren heeft had hadden werd werden geboren stierf won
    maar hoewel toch
    """,
)

NORDIC = (
    r"""
    hej(?:san)?(?:\ (?:där|igen|på\ dig|då))?|god\ ?(?:morgon|kväll|dag|natt|morgen|aften)
    | v[äe]lkommen|adjö|farvel|ha\ det(?:\ (?:bra|fint|så\ bra|godt))?|varsågod|vær\ så\ god
      |selv\ tak
    | (?:tusen\ |mange\ )?(?:tack?|takk)(?:\ (?:så\ mycket|skal\ du\ ha|f[öo]r\ {rest}))?
    | ingen\ (?:orsak|fara|årsak)|inga\ problem|bare\ hyggelig|lycka\ till|held\ og\ lykke
      |lykke\ til
    | (?:det\ [äe]r\ |det\ var\ )?(?:ett?\ |en\ )?(?:mycket\ |meget\ |veldig\ )?(?:bra|godt?
      |intressant)
      \ (?:fråga|spørgsmål|spørsmål)
    | (?:ja?eg\ |jag\ )?(?:hoppas|håber|håper)(?:\ (?:att?\ )?(?:det|detta|dette)\ {rest})?
    | (?:säg\ (?:bara\ )?till|hör\ (?:gärna\ )?av\ dig|sig\ (?:bare\ )?til
      |si\ (?:bare\ )?fra)(?:\ {rest})?
    | (?:vad|hur|hvad|hva|hvordan)\ kan\ (?:jag|jeg)\ (?:hjälpa|hjælpe|hjelpe|göra)\ {rest}
    | (?:kan\ )?(?:jag|jeg)\ (?:kan\ )?(?:hjälpa|hjælpe|hjelpe)\ {rest}
    | (?:om|hvis)\ du\ (?:har|behöver|vill|undrar|trenger|vil)\ {rest}|kul\ att\ {rest}
    | ha\ en\ (?:bra|trevlig|fin|god)\ (?:dag|kväll|aften)|(?:vänliga|med\ venlig
      |med\ vennlig)\ h\w*lsning\w*
    | (?:vänliga\ |varma\ )?hälsningar|(?:har|finns\ det)\ (?:du|något)\ (?:fler|andra|mer
      |annat)\ {rest}
    """,
    r"""
    tyvärr|desværre|dessverre|(?:jag\ (?:är\ )?|jeg\ )?(?:ledsen|beklagar|beklager)|förlåt|undskyld
    | unnskyld|ursäkta|som\ (?:en\ )?(?:ai|stor\ språkmodell|språkmodell?|sprogmodel)(?:-\S+)?
    """,
    r"""
    (?:jag|jeg)\ (?:vet|ved|veit|känner|kender|kjenner|har|hittar|hittade|kan|kunde|kunne|får|kommer
      |[äe]r|finner
      |fandt|fant)\ (?:\S+\ ){0,4}(?:inte|ikke|ingen|inga|inget|ingenting|intet)(?:\ {rest})?
    | (?:det(?:te)?|detta|där|der)\ (?:vet|ved|veit|kan|känner|har)\ (?:jag
      |jeg)\ (?:\S+\ ){0,3}(?:inte|ikke
      |ingen|inga|inget|intet)(?:\ {rest})?
    | (?:i\ )?(?:dokument\w*|texten|kontexten|källorna|källan|handboken|manualen|underlaget
      |konteksten
      |teksten|kilderne|kildene)\ (?:\S+\ ){0,4}(?:inte|ikke|inget|ingenting|ingen
      |intet)(?:\ {rest})?
    | det\ (?:framgår|nämns|står|nævnes|nevnes)\ (?:inte|inget|ingenting|ikke|intet)\ {rest}
    | det\ finns\ (?:ingen|inga|inget)\ (?:information|uppgift\w*|svar)(?:\ {rest})?
    """,
    (r"(?!)", r"(?!)", r"(?!)", r"(?!)", r"(?!)", r"(?!)"),
    r"""
    (?:kan|kunde|kunne|vill|vil|menar|mener|behöver|har|ønsker)\ (?:du|ni|jag|jeg|i)\b
    | (?:vilken|vilket|vilka|vad|hur|när|var|hvilken|hvilket|hvad|hva)\ (?:\S+\ ){0,4}(?:du|ni|jag
      |jeg|dig)\b
    """,
    """
    som att vem där eftersom är var hade blev född dog men dock vilken fordi hvor hvem
    """,
)
