"""Phrases of English, German, Dutch, and of Swedish, Danish and Norwegian, which are combined.

The fields are those of `Phrases`.
"""

from __future__ import annotations

from typing import Final

from resay.core.phrases import Phrases

ENGLISH: Final = Phrases(
    polite=r"""
    behold|much appreciated|as always|good (?:morning|afternoon|evening|day) to you(?: too)?
      |i would love to {rest}
    | let (?:me|us) (?:walk you through (?:it|this|the (?:basics|steps|details))|get (?:into
      |to) (?:it|this|work))
    | i can (?:also )?(?:put|turn|make|format|show) (?:this|it|that|these|you) {rest}
    | at your service|aye(?: aye)?|you have got this|(?:how )?(?:interesting|fascinating|intriguing)
    | (?:i )?hope (?:that|this|it) (?:is|was) (?:useful|helpful|clear|what you needed)
    | (?:hello|hi|hey|greetings|howdy|welcome|ahoy)(?: (?:there|again|everyone|all|back|to you))?
    | good (?:morning|afternoon|evening|day|night|bye)|goodbye|bye(?: bye)?|farewell|cheers
    | (?:see|talk to) you(?: (?:soon|later|again|around))?|until next time
    | take (?:good )?care(?: of yourself)?|(?:stay|be|keep) safe
    | (?:ah|aha|oh|ha|hm+|well|now|alas|arr+|my (?:dear |good )?friends?)
    | (?:many |again )?(?:thanks|thank you)(?: (?:so|very) much| a lot| again| too)?
      (?: for (?:(?:the|your) (?:kind words|questions?|messages?|notes?|interest|patience|help|time
      |feedback|compliment|update)|(?:\S+ing|the|your)(?: {rest})?))?
    | i appreciate (?:your|the) {rest}
    | (?:you are )?(?:very |most |always )?welcome|my pleasure|anytime|what is up
    | how are you(?: (?:doing|today))*|(?:and )?(?:how about )?you
    | i am (?:doing )?(?:fine|well|good|great|okay)(?: thank you| thanks)?
    | (?:it is )?(?:nice|great|good|lovely) to (?:meet|see|hear from) you(?: (?:too|again))?
    | (?:please )?enjoy(?: {rest})?|have (?:fun|a \S+ \S+)(?: (?:too|ahead|{rest}))?
    | (?:good|best of) luck(?: {rest})?|all the best|congratulations(?: on {rest})?
    | (?:safe|happy) (?:travels?|trip|journey|reading|coding|cooking|baking|learning)
    | (?:(?:best|kind|many|warm|with|and) )*(?:regards|wishes)|(?:yours )?sincerely
    | dear (?:\w+ )?(?:user|customer|friends?|sir|madam|reader|all|colleagues?|team|hiring manager)
      |your assistant
    | (?:i (?:can|could|will)|(?:i (?:am|would be|will be) )?(?:always |here and )*(?:happy|glad
      |here|ready|pleased|delighted)(?: to)?) (?:try to |do my best to )?(?:(?:also|certainly
      |gladly) )*(?:help|assist|chat|explain|expand|elaborate|provide|give|share|clarify
      |summari[sz]e|guide|adjust|tailor|answer|walk you|take a look|check|look|review|go (?:into
      |over|through)|be of|go deeper|have been of|hear)(?: {rest})?|(?:i am )?(?:glad
      |happy) i could help
    | i am (?:always )?here(?: (?:if|whenever|for) {rest})?
    | (?:(?:how|what) (?:can|may|could) i|is there (?:anything|something)|anything else
      |would you like me to|(?:do you )?(?:want|need) (?:anything|something|more))(?: {rest})?
    | (?:please |just |simply )?(?:let me know|say the word|just ask|ask away|feel free
      |do not hesitate|reach out)(?: {rest})?
    | if (?:anything|something) is (?:still )?(?:unclear|missing)|if you (?:share|send|tell|give
      |provide|let) {rest}
    | (?:just )?tell me (?:where|what|which|how|more|if) {rest}|i am all ears|ready when you are
      |take your time|no rush(?: at all)?
    | wishing you {rest}|you are (?:very |too |so )?(?:kind|not alone)|(?:that|this) must be (?:hard
      |difficult|tough|frustrating)
    | i understand (?:how you feel|your (?:concern|question|frustration))|very well
      |your mileage may vary
    | (?:(?:dear|brave|good|my|fellow) )*(?:travell?er|adventurer|partner|mat(?:e|ey)s?|stranger
      |captain|sir|madam|folks|everyone|friends?|pal|buddy)
    | (?:if|whenever|should) you (?:would like|want|wish|need|prefer|have)(?: {rest})?
    | (?:i (?:really )?)?(?:hope|trust) (?:that|this|it|you|everything) {rest}
    | (?:that|this|it) (?:helps?|clears things up|makes sense)
    | (?:(?:that|this|it|now) )*(?:is )?(?:what |such )?(?:an? )?(?:(?:very|really|most) )?(?:great
      |good|excellent|interesting|fantastic|wonderful|delightful|marvell?ous|curious|intriguing
      |charming|nice|fun|lovely|cool|thoughtful|tricky|tough|fine|splendid|superb|brilliant|clever
      |fair|important|valid) (?:question|one|point|idea|topic|choice|catch|thing to ask|enough)
      (?: {rest})?
    | please|no (?:problem|worries|trouble)(?: at all)?|got it|understood|noted|well done
    | sounds (?:good|great)|(?:it|that) (?:really |all )?depends
    | let (?:me|us) (?:explain|see|think|check|look|start|begin|break|walk|take|clarify|elaborate
      |summari[sz]e|help|dive|go|get started|tell)(?: {rest})?
    | does (?:that|this|it) (?:make sense|help|answer your question|work for you)
    | here (?:you (?:go|are)|it is|they are|we go)|as (?:requested|promised|you asked)
    | here is (?:the|an?) (?:short |brief |quick )?(?:answer|overview|summary)(?: to your question)?
    | here is what (?:i|you) (?:found|know|have|asked for|requested|need|can (?:say|tell you))
    """,
    disclaimer=r"""
    the contents? of this {info} (?:is|are) (?:purely |only |just )?(?:informational|educational
      |general)
    | (?:this|these|things|{info}) (?:may|might|can|could) (?:have )?changed?(?: since {rest})?
    | (?:an?|your|the) (?:\w+ )?(?:solicitor|lawyer|doctor|professional|expert|specialist|pharmacist
      |adviser|advisor) (?:can|could|may|might|will)(?: be able to)?(?: (?:help|advise|tell you
      |answer|assess)(?: {rest})?)?
    | (?:based on|from|given|with) what you have \w+
    | (?:important )?(?:note|disclaimer|reminder|caveat)|thank you for understanding
    | (?:none of|nothing in|nothing) (?:this|these|the above|here|above|my)(?: {info})? (?:is|are
      |should be|constitutes?)(?: (?:considered|taken|meant|intended)(?: as)?)? (?:an? )?
      (?:\w+ ){0,4}(?:advice|recommendation|guidance)
    | (?:this|these|the (?:above|following)|(?:(?:this|the|my|these|any|all) )+(?:general )?{info}
      (?: (?:above|below|here|provided(?: here)?|i (?:provide|give|gave)))?) (?:(?:is|are|does|do
      |should|must|can|may)(?: also)? (?:not|no|never|only) (?:be )?(?:(?:replace|constitute
      |(?:considered|taken|meant|intended|construed)(?: (?:as|to (?:be|replace)))?) )?(?:an? |the )?
      (?:(?:substitute|replacement) for )?(?:\w+ ){0,4}(?:advice|recommendation|guidance|counsel
      |consultation|opinion|diagnosis)(?: of {rest})?
      | (?:is|are) (?:provided |intended |meant )?(?:only )?(?:for|of) (?:an? )?(?:\w+ ){1,4}
        (?:purposes?|information|nature|guidance)(?: only)?
      | (?:is|are) (?:only )?general (?:information|guidance)(?: only)?
      | (?:may|might|can|could)(?: also)?(?: not)?(?: always)? (?:contain (?:errors|mistakes
        |inaccuracies)|be (?:\w+ly )?(?:outdated|out of date|incomplete|inaccurate|up to date
        |up-to-date|accurate|complete|current|wrong|incorrect)(?: for {rest})?)
      | (?:is|are) based (?:only |solely |entirely |purely )?on (?:{docs}|(?:my )?
        (?:general )?{info})
      )
    | (?:please )?(?:do not )?(?:treat|take|consider|rely (?:only |solely )?on) (?:this|these|my|it)
      (?: {info})?(?: alone| with (?:a (?:grain|pinch) of salt|caution|care)| as (?:\w+ ){0,2}
      (?:advice|information|guidance|recommendation))|not as (?:\w+ ){0,2}advice
    | (?:every|each) (?:case|situation|person) is different
    | (?:this|it) (?:is )?(?:not|no) (?:a )?(?:substitute|replacement) for (?:\w+ ){0,4}(?:advice
      |consultation|care|treatment|professional|doctor|lawyer)
    | i (?:may|might|can|could) (?:\w+ )?(?:make (?:mistakes|errors)|be (?:wrong|mistaken))
      (?: {rest})?
    | (?:i am )?(?:very |so |really )?sorry(?: (?:about|for|to hear) {rest})?
    | (?:i|my) (?:sincer(?:e|ely) )?apologi(?:[sz]e|es)(?: for (?:(?:the|any) (?:confusion|delay
      |inconvenience|mistakes?|errors?|misunderstanding)|{rest}))?
    | unfortunately|i am afraid|regrettably|however|as far as i (?:can (?:see|tell)|know)
    | (?:as )?an ai(?: (?:language )?model| assistant)?|as a(?: large)? language model
    | i am (?:just |only )?an? (?:ai|(?:computer )?program|(?:chat)?bot|machine|(?:large
      |ai) language model|ai assistant)
    | please (?:provide|give|share|clarify|specify|rephrase|try|tell me)(?: {rest})?
    | (?:based on|according to|given|from|in|with|having (?:read|searched|checked)) {docs}
    | i (?:have )?(?:looked|searched|checked|read|went|gone) (?:through|in|over|at| )*{docs}
    """,
    refusal=r"""
    i am (?:not|no) (?:an? )(?:\w+ ){0,2}\w+
    | (?:that|this|it) is (?:not )?something i (?:would rather|will|can|could|would)(?: not)? (?:do
      |help with|say|discuss|answer)(?: {rest})?
    | i would need(?: to (?:see|know|have|read|check))?(?: (?:the|more|some)(?: (?:full|complete
      |actual|exact))?)? {rest}
    | i (?:\w+ly |just )*(?:can|could|will|may|might) not(?: \w+ly)?(?: have)? (?!(?:agree|see why
      |stress|emphasi[sz]e|imagine|recommend it|be)\b){rest}
    | i (?:\w+ly |just )*(?:do|did|have) not (?:\w+ly )*(?:been )?(?:have|know|recogni[sz]e|recall
      |remember|understand|possess|retain|store|share|discuss|comment|speculate|hold|offer|provide
      |feel|own|follow|find|found|see|give|given|provided|told|trained|shown|access)(?: {rest})?
    | i will not be able to {rest}|i was not (?:given|provided|told|trained|shown|able)(?: {rest})?
    | i am (?:\w+ly )?(?:unable|not (?:\S+ )?(?:certain|sure|aware|familiar|able|allowed|permitted
      |authori[sz]ed|qualified|equipped|capable|designed|programmed|comfortable|in a position))
      (?: {rest})?
    | i am (?:not|no) (?:an? )?(?:\w+ )?(?:doctor|physician|lawyer|attorney|expert|advis[eo]r
      |professional|therapist|accountant|human|person|pharmacist|veterinarian|specialist)
    | (?:i (?:have|found|see) )?no (?:\w+ )?(?:{info}|idea|clue|mention|access|way|means|memory
      |preferences?|feelings?|indication)(?: (?:on|about|of|regarding|for|to|as to) {rest}| given
      | provided| available)?
    | there is no way (?:for me )?to (?:know|tell|say|check|verify|find out)(?: {rest})?
    | i (?:must|have to|will have to) (?:\w+ly )?(?:decline|refuse|pass)(?: {rest})?
    | i (?:would rather|prefer|would prefer) not(?: {rest})?
    | i (?:would need|can only (?:help|assist|answer|talk|speak|discuss|respond|support))
      (?: {rest})?
    | (?:it|that|this) is (?:beyond|outside|out of|not something|something) (?:of )?(?:what )?
      (?:i (?:can|could|know|would|will|am|do)|(?:my|the|our) (?:\S+ )?(?:\S+ of )?(?:expertise
      |capabilit(?:y|ies)|abilit(?:y|ies)|scope|knowledge|remit))(?: {rest})?
    | (?:it is|i am) (?:unclear|not clear) (?:to me )?(?:what|which|who|where) you {rest}
    | your (?:question|request|message) is (?:\S+ ){0,2}(?:vague|unclear|ambiguous|broad|short)
    | (?:it|that) depends on what you mean|i am drawing a blank
    | there (?:could|may|might) be (?:several|many|multiple|different|other) \S+ (?:with|by
      |of) {rest}
    | there is no (?:(?:widely|well|publicly|known|recorded|documented) )*\S+ (?:by|with|under
      |of) (?:that|this) (?:name|title|description)
    | (?:that|this|it) would not be (?:appropriate|right|ethical|responsible)(?: {rest})?
    | (?:that|this) goes against my {rest}
    | my (?:training data|knowledge) (?:(?:does|may|might) not (?:cover|include|extend)|only goes
      |only extends|ends|stops|has a (?:cutoff|cut-off)|is limited)(?: {rest})?
    """,
    silence=r"""
    {docs} (?:fails? to|never) (?:say|mention|state|specify|address|explain)s?(?: {rest})?
      |i was unable to (?:locate|identify) {rest}
    | (?:(?:the|any|further|more) )?{info} (?:is|are) not (?:\w+ly )?(?:provided|available|given
      |included|mentioned|specified|disclosed)(?: (?:in|by) {docs})?
    | i (?:have |could |can |did )?(?:found|find|see|saw) (?:nothing|no (?:{info}|mention
      |reference))(?: {rest})?|it (?:does|did) not (?:say|mention|specify)(?: {rest})?
    | {rest} (?:does|do|did) not (?:appear|feature|come up)(?: anywhere)? in {docs}|{rest} (?:is
      |are) nowhere (?:to be found|mentioned)(?: in {docs})?|(?:that|this|the) {info} (?:is
      |are) (?:missing|absent) from {docs}
    | no (?:mention|reference) is made (?:of|to) {rest}|(?:that|this|it) is not something {docs} \w+
    | there (?:is|are) (?:no|not any) {info} (?:on|about|regarding) the {rest}
      |it is not possible to (?:say|tell|know|answer)(?: {rest})?
    | i (?:can|could|do|did) not (?:find|see|locate) {rest} (?:in|on|from) {docs}
    | i (?:could not|was not able to|was unable to) find {rest}
    | without (?:seeing|knowing|more|further|additional) {rest}
    | (?:it|that|this) is (?:hard|difficult|impossible|tough|not possible) (?:for me )?to (?:say
      |tell|know|answer|predict)(?: {rest})?
    | (?:in|from|according to|based on) {docs} (?:there is (?:no|nothing) (?:\w+ )?(?:{info}|mention
      |indication)|i can not (?:say|tell|find|determine|answer)|it can not be (?:answered|determined
      |inferred))(?: {rest})?
    | {docs} (?:do|does|did) not (?:\w+ly |seem to )*(?:say|mention|state|specify|tell|name|go into
      |touch on|elaborate on|address|discuss|indicate|describe|explain|list|clarify|answer)
      (?: {rest})?
    | {docs} (?:do|does|did) not (?:\w+ly )*(?:contain|include|provide|give|have|cover)(?: (?:any
      |this|that|it|the|enough|\w+ing))*(?: {info}(?: {rest})?)?
    | {docs} (?:says?|mentions?|contains?|gives?|provides?|has|have|includes?|lacks?|omits?|offers?
      |makes?) (?:nothing|(?:(?:no|any) )?(?:\w+ )?(?:{info}|mention|indication|reference))
      (?: {rest})?
    | {docs} (?:(?:are|is|remains?) silent(?: here| (?:on|about|as to) {rest})?
      |leaves? {rest} (?:open|unspecified|unanswered))
    | (?:nothing|none|neither|no) (?:(?:in|of|from) {docs}|(?:of them )?(?:document|source|text
      |passage|excerpt|page)s?) (?:mention|say|addresse?|cover|answer|state|specif(?:y|ie)|indicate
      |contain|name|give|list)s?(?: {rest})?
    | {rest} (?:is|are|was|were) (?:not|never) (?:\w+ly )?(?:(?:mentioned|named|stated|specified
      |addressed|discussed|indicated)(?: anywhere)?(?: (?:in|by) {docs}(?: {rest})?)?|(?:given
      |listed|provided|included|described|disclosed|covered|documented|found|available|contained
      |present)(?: anywhere)? (?:in|by) {docs}(?: {rest})?)
    | (?:{rest}|it|this|that) (?:can|could) not be (?:determined|found|inferred|derived|answered
      |established)(?: (?:from|in|by|based on|using|with) {docs})?
    | (?:that|this|it|the (?:answer|information)) (?:does not appear|is not (?:\w+ly |yet )?(?:given
      |found|available|provided|listed|described|clear|mentioned|stated|specified|known|public
      |accessible|part of|in))(?: {rest})?|(?:that|this) {info} is not (?:\w+ly )?(?:available|given
      |provided|mentioned|known|included|accessible|disclosed)(?: {rest})?
    | there (?:is|was|are) (?:no|not any|nothing|not enough) (?:(?:reliable|public|publicly|specific
      |further|available) )*(?:(?:mentions?|indications?|references?)(?: {rest})?|{info}?(?: ?(?:on
      |about|of|regarding|for) (?:\S+ ){1,6})? ?(?:given )?in {docs}(?: {rest})?|{info}(?: (?:on
      |about|of|for) (?:it|this|that|them))?(?: (?:here|available|provided))?)
    | not (?:mentioned|stated|specified|given|provided|covered|answered)(?: (?:in|by) {rest})?
    | unknown|not (?:available|applicable|known)|(?:nothing|no {info}) is (?:said|given|mentioned
      |provided|available)(?: (?:in|about|on) {rest})?
    | no {info} (?:on|about|regarding|for) (?:\S+ ){1,6}(?:is|are) (?:given|provided|available
      |included|mentioned)(?: in {rest})?|no {info} (?:is|are|was|were) (?:\w+ly )?(?:available
      |known|found)
    | i am not aware of any (?:\S+ ){1,3}(?:that|which|who) (?:names?|mentions?|says?|gives?|states?
      |records?|lists?|describes?) (?:the|this|that|it|any)(?: \S+)?
    """,
    lacks=r"""
    {docs} (?:do|does|did) not (?:contain|include|provide|give|have|cover) (?=the|this|that){rest}
    | {docs} (?:gives?|mentions?|names?|states?|specif(?:y|ies)) no \S+(?: (?:of|for
      |on) the {rest})?
    | no {rest} (?:is|was) (?:given|mentioned|stated|specified|provided|listed|named)(?: (?:in
      |by) {docs})?
    """,
    referral=r"""
    (?:(?:please|kindly|always|just|also|instead|or|consider|for that|(?:be|make) sure to
      |remember to|do not hesitate to|you (?:should|may|might|can|could|must|will)(?: also)?
      (?: (?:want|wish|need) to)?|i (?:would )?(?:\w+ly )?(?:recommend|suggest|advise|encourage
      |urge)(?: (?:that )?you)?(?: to)?|i would|it (?:is|may be|might be
      |would be) (?:always |usually )?(?:best|important|advisable|wise|better|helpful
      |a good idea) to) )*
    (?:
      (?:(?:contact|consult|ask|see|visit|call)(?:ing)?|(?:speak|talk|reach out|turn|go|refer)
        (?:ing)? (?:to|with)|check(?:ing)? with|get(?:ting)? in touch with) (?=.*\b(?:doctors?
        |physicians?|gp|pharmacists?|dentists?|therapists?|counsell?ors?|psychologists?|vet
        |veterinarians?|lawyers?|attorneys?|solicitors?|accountants?|professionals?|experts?
        |specialists?|advis[eo]rs?|technicians?|electricians?|mechanics?|plumbers?|contractors?
        |authorit(?:y|ies)|police|emergency|hotlines?|helplines?|support|customer service|staff|team
        |administrators?|supervisor|provider|manufacturer|retailer|seller|vendor|embassy|bank
        |employer|teacher)\b){rest}
      | (?:consult|contact|check with|ask|talk to|speak (?:to|with))(?:ing)? (?:an?|your|our
        |any) {rest}|(?:consult|contact) the {rest}
      | (?:check|visit|try|consult|read|review|search|brows|refer|us|look|see|go)(?:e|ing)?(?: (?:to
        |at|up|on|it|in))* (?=.*\b(?:websites?|sites?|web ?pages?|apps?|documentation|docs|manual
        |handbook|guides?|guidelines|sources?|news|weather|forecasts?|conditions|internet|online|web
        |search engines?|databases?|encyclopa?edia|labels?|terms|official)\b){rest}
      | (?:seek|get|obtain)(?:ing)? (?=.*\b(?:help|advice|assistance|attention|care|guidance|support
        |treatment|counsel|opinion)\b){rest}
      | (?:verify|confirm|double-check|cross-check)(?:ing)? (?:this|that|it|these|any|all
        |anything(?: important)?|with|the \S+|{info})(?: {rest})?|check (?:this|these|any|all
        |the latest)(?: {info})?
      | (?:if|should|when) you (?:are (?:not )?(?:sure|comfortable)|are|feel|experience|have|notice
        |suspect|think|need) {rest}
      | for (?:\w+ ){0,2}(?:advice|help|support|assistance|information)
      | (?:for|on|about|regarding) your (?:\w+ )?(?:situation|case|circumstances|needs|condition
        |health|licensed|qualified|trusted|local|specific)
      | (?:for|before|when) (?:more|further|accurate|current|specific|detailed|reliable|official
        |precise|personali[sz]ed|professional|(?:the )?(?:latest|best|most)|up-to-date|anything
        |making|taking|doing|deciding|changing|starting|decisions|symptoms|medication|medicines?
        |concerns|in doubt)(?: {rest})?
    )
    """,
    question=r"""
    (?!.*\b(?:you|we) (?:really )?(?:know|aware|heard|hear|noticed|believe|imagine|guess|reali[sz]e
      |remember) (?!what|which|who|how|if|whether|your))(?:.*\byour?\b|.*\b(?:can|could|may|shall
      |should|do) (?:i|we)\b|anything else|want me\b|ready\b|(?:would|does|how does) (?:it|that
      |this) (?:help|sound|work))
    """,
    opener=r"""
    and|but|so|or|yet|also|(?:if|when) in doubt|well|why|now|that said|(?:please |but )?(?:note
      |remember|be aware|be advised|bear in mind|keep in mind)(?: that)?|(?:i am )?(?:afraid|sorry)
      (?: (?:that|but))?|unfortunately|however|honestly|regrettably|(?:at|for) (?:this|the) (?:point
      |moment)|as far as i (?:can (?:see|tell)|know)
    """,
    documents=r"""
    (?:(?:(?:the|your|these|those|this|that|any|all) (?:of )?(?:the )?(?:\S+ ){0,2})(?:documents?
      |documentation|context|texts?|sources?|materials?|passages?|handbook|manual|guide|excerpts?
      |articles?|files?|pages?|knowledge base|information|lease|contract|agreement|policy|report
      |letter|invoice|brochure|leaflet|e-?mail|transcript|minutes|memo|readme|datasheet|data sheet
      |notes|attachments?|faq|form|chapter|section|snippets?|links?|listing|pdf|reference
      |description|document|code)|(?:the|this|these|your) (?:attached|provided|supplied|uploaded
      |enclosed) \S+|(?:the|this|these) \S+ you (?:have )?(?=shared|provided|sent|gave|uploaded
      |attached))(?: (?:provided|given|above|alone|(?:that )?you (?:have )?(?:shared|provided|sent
      |gave|uploaded|attached|linked|pasted)(?: me)?|shared|provided|sent|gave|uploaded|attached))?
    """,
    information=r"""
    information|info|details?|data|answers?|responses?|reply|overview|summary|explanation|content
      |knowledge|facts?|records?|abilit(?:y|ies)|opinions?|guidance|advice|specifics
    """,
    attributes="""
    address age amount author category colour color cost cause date deadline duration fee height
    location name number origin place price purpose reason result size time title topic type value
    weight year
    """,
    definites="the its",
    others="why her his their she he him whose",
    things="it",
    interrogatives="who whom what when where how which",
    claims="""
    that who whom whose which where when while because since although though however but as is are
    was were am be been being has have had did does do became born died won known called named
    founded despite also actually instead meaning
    """,
)

GERMAN: Final = Phrases(
    polite=r"""
    (?:hallo|hi|hey|servus|moin|grüezi|grüß (?:gott|dich)|willkommen)(?: (?:zusammen|zurück))?
    | guten?r? (?:morgen|tag|abend|nacht|appetit)|(?:auf )?wiedersehen|tschüss
    | bis (?:bald|dann|später)|ah|oh|hm+|nun|na ja|schön|jederzeit wieder
    | (?:vielen |herzlichen |besten )?danke?(?: (?:schön|sehr|dir|ihnen))?(?: für {rest})?
    | (?:sehr )?gerne?(?: geschehen)?|bitte(?: (?:schön|sehr))?|keine ursache
    | (?:und )?(?:wie geht es )?(?:dir|ihnen)(?: heute)?|wie geht's(?: dir)?
    | mir geht es (?:gut|prima)|es geht mir gut|(?:es )?freut mich|dass (?:du fragst|sie fragen)
      |(?:es ist )?schön (?:von|dich|sie) {rest}
    | (?:ich wünsche (?:dir|ihnen) )?(?:einen )?schönen (?:tag|abend)(?: noch)?
    | (?:wie|womit|wobei|was|soll|kann|darf) (?:kann |darf |soll )?ich (?:\S+ ){0,5}(?:helfen
      |behilflich sein|weiterhelfen|tun|erklären)
    | (?:wenn|falls) (?:noch )?etwas unklar (?:ist|bleibt|sein sollte)
    | (?:wenn|falls|sollten?) (?:sie|du|noch|etwas) {rest}
    | (?:das ist )?(?:eine )?(?:sehr )?(?:gute|tolle|interessante|spannende|schöne) frage
    | (?:ich hoffe )?(?:das|dies) (?:hilft|beantwortet)(?: {rest})?|ich hoffe(?: {rest})?
    | (?:sagt?|sagen|meld(?:en?)?|fragt?|fragen|lass) (?:(?:sie|sich|dich|es|mir|mich|gerne?|einfach
      |jederzeit|nur|bescheid|wissen|nach|weiter) ?)+
    | viel (?:erfolg|spaß|freude|vergnügen)(?: {rest})?|verstanden|klingt gut|keine? problem
    | gute[rn]? (?:punkt|hinweis|idee|reise|fahrt)|(?:das )?kommt (?:ganz )?darauf an
    | ergibt das sinn|lass(?:en)? (?:sie )?(?:mich|uns) (?:\S+ ){0,5}(?:erklären|sehen|schauen
      |überlegen|prüfen)
    | (?:ich (?:kann|könnte|helfe)|gerne? helfe ich) (?:ihnen|dir|gerne?) (?:\S+ ){0,5}(?:helfen
      |erklären|geben|weiter)|ich (?:helfe|konnte) (?:\S+ ){0,4}(?:weiter|gerne?|helfen)
    | gerne? helfe ich (?:ihnen|dir)(?: {rest})?|(?:liebe|viele|beste|schöne|herzliche
      |mit freundlichen) grüssen?|sehr geehrte[r]? {rest}
    | hier ist (?:die|meine|eine kurze) antwort(?: auf (?:deine|ihre) frage)?
    | (?:bei|für) weiteren? fragen?(?: {rest})?|(?:hast du|haben sie) (?:noch )?(?:weitere )?fragen
    """,
    disclaimer=r"""
    hinweis|wichtig|bitte beacht(?:en sie|e)|haftungsausschluss|entschuldigung|leider
      |(?:ich bitte um )?verzeihung
    | (?:dies|das|es|(?:(?:diese|alle|die|meine) )+(?:\w+ )?{info}(?: oben)?) (?:ist|sind|stellt
      |stellen|ersetzt|ersetzen) (?:keine?n?|nicht) (?:\S+ ){0,3}\S*(?:beratung|empfehlung|diagnose
      |besuch|gespräch|rat)(?: dar)?
    | (?:(?:diese|alle|die|meine) )+(?:\w+ )?{info} (?:(?:sind|ist|können|kann|könnten|dienen|dient
      |erfolgen) )?(?:nur |auch |möglicherweise |lediglich )*(?:veraltet|unvollständig|fehlerhaft
      |allgemein\w*|ohne gewähr|(?:(?:der|zur|zu) )?(?:\S+ )?(?:information\w*|\w*zwecken
      |orientierung))(?: (?:sein|natur|art))?
    | (?:dies|diese|meine)\w* {info} (?:beruht|beruhen|basiert|basieren) auf {docs}
    | ich (?:kann|könnte) (?:mich irren|fehler machen)
    | (?:es )?tut mir (?:sehr )?leid|ich entschuldige mich(?: für {rest})?
      |entschuldigen sie(?: {rest})?
    | als ki(?:-(?:sprachmodell|modell|assistent))?|bitte (?:geben|gib|nennen|nenne) {rest}
    | (?:laut|gemäss|nach|aus|in) {docs}
    """,
    refusal=r"""
    (?:(?:leider|da|hier|das|da\w+|hier\w+|(?:eine?|zu[rm]?|über) (?:\S+ ){1,5}?) ?){0,2}
      (?:ich (?:\w+ )?|(?:kann und )?(?=\S+ ich\b))(?:kann|darf|könnte|werde|möchte|habe|kenne|finde
      |besitze|verstehe|verfüge|konnte|weiss)(?: ich)? (?:\S+ ){0,7}(?:nichts?|keine?[nrsm]?)
      (?: {rest})?
    | (?:das )?wei(?:ß|ss) ich (?:leider )?nicht(?: genau)?
    | (?:dass )?ich keine? \S+ bin|ich bin (?:mir )?(?:\S+ )?(?:keine?|nicht) {rest}|keine (?:ahnung
      |{info})
    | (?:\S+ ){1,4}(?:ist|sind) mir (?:leider )?nichts? bekannt|da muss ich (?:leider )?passen
    | (?:(?:dazu|darüber|davon|hierzu|leider) )*(?:liegen|liegt) mir (?:\S+ ){0,3}keine? {rest}
    | mir (?:liegen|fehlen) (?:\S+ ){0,3}(?:keine? )?{info}(?: {rest})?
    | (?:das|dies|es) (?:liegt|geht) (?:leider )?(?:ausserhalb|über) {rest}
    """,
    silence=r"""
    {docs} (?:erwähn(?:t|en)|sag(?:t|en)|nenn(?:t|en)|beschreib(?:t|en)) (?:\S+ ){0,3}?(?:nichts?
      |keine?n?)(?: {rest})?
    | {docs} (?:enthält|enthalten|gibt|geben|mach(?:t|en)|liefer(?:t|n)) (?:\S+ ){0,3}?(?:nichts
      |keine?n? (?:\S+ )?{info})(?: {rest})?
    | (?:in|im|aus) {docs} (?:steht|stehen|findet|finden|geht|gehen|lässt) (?:\S+ ){0,3}?(?:nichts?
      |keine?n?)(?: {rest})?
    | (?:in|im) {docs} (?:wird|werden|ist|sind|gibt|fehlt) (?:\S+ ){0,3}?(?:keine?n? {info}
      |(?:nichts?|keine?n?) (?:\S+ ){0,2}(?:erwähnt|\S*nannt|angegeben|beschrieben|erklärt|erläutert
      |gesagt|enthalten))(?: {rest})?
    | (?:dazu|darüber|hierzu|davon) (?:steht|stehen|geht|gehen|gibt|wird|lässt|ist|sind|sagt|sagen
      |enthält|liegt|liegen|macht|machen|findet|finden) (?:\S+ ){0,4}?(?:nichts?|keine?n?)
      (?: {rest})?|es gibt (?:\S+ )?keine? {info}(?: {rest})?
    | (?:das|dies|es) (?:steht|geht|wird|lässt sich|ist) (?:(?:leider|in|im
      |aus) |{docs} )*nicht (?:hervor|erwähnt|genannt|angegeben|entnehmen|ableiten|sagen|in {docs})
    | zu[rm]? (?:\S+ ){1,5}(?:macht|machen|sagt|sagen|enthält|enthalten|gibt|geben|liefert|steht
      |stehen|findet|finden) (?:{docs}|sich|es|in|im| )* ?(?:keine {info}|nichts)(?: {rest})?
    | {rest} (?:wird|werden|ist|sind) (?:leider )?nicht (?:genannt|erwähnt|angegeben)
    | {rest} (?:wird|werden|ist|sind|geht|gehen|lässt sich|lassen sich) (?:(?:in|im|aus) {docs} )
      (?:leider )?nicht (?:\S*nannt|erwähnt|angegeben|beschrieben|aufgeführt|enthalten|geregelt
      |hervor|entnehmen|ableiten|ersehen|genau \S+)
    | (?:diese|die|deine|ihre) (?:frage|anfrage|{info}) (?:lässt sich|ist|sind|liegt|liegen
      |kann(?: ich)?) (?:\S+ ){0,5}nicht (?:vor|verfügbar|bekannt|beantworten|beantwortet|öffentlich
      |zugänglich)(?: {rest})?
    | unbekannt|nicht (?:angegeben|bekannt|genannt|erwähnt|verfügbar)|keine angaben?
    """,
    referral=r"""
    lassen sie sich (?:\S+ ){0,4}(?:beraten|untersuchen)
    | für (?:eine?n? )?(?:\S+ ){0,2}(?:auskunft|beratung|rat|einschätzung) (?:sollten|können|fragen
      |wenden|kontaktieren) sie (?:sich )?{rest}
    | (?:(?:bitte|am besten|immer|stets|auch|dann|im zweifel|sie (?:sollten|können|könnten)
      |du (?:solltest|kannst|könntest)|ich (?:empfehle|rate)(?: (?:ihnen|dir))?|es ist (?:\S+ )?
      (?:ratsam|besser|wichtig)) )*
    (?:
      (?:wende|kontaktiere|frage?|konsultiere|rufe?|sprich|spreche|besprich
        |hole?)n? (?=.*\b(?:\w*arzt|\w*ärztin|apotheker\w*|apotheke|\w*anwalt|\w*anwältin|fach\w+
        |experten?|expertin|spezialist\w*|behörden?|polizei|notruf|kundendienst|kundenservice
        |support|hersteller|händler|anbieter|\w*berater\w*|\w*rat|notdienst|krankenhaus)\b){rest}
      | (?:prüfe|besuche|schaue|lies|lese|suche|konsultiere|informiere|siehe?|nutze
        |überprüfe)n? (?=.*\b(?:\w*website|\w*seiten?|\w*app|\w*dokumentation|\w*handbuch
        |\w*anleitung|\w*quellen?|offizielle\w*|nachrichten|internet|\w*suchmaschine|online
        |\w*wetterdienst|web)\b){rest}
      | (?=.*(?:arzt|anwalt|experten|fachmann|profi|website|webseite|handbuch|quelle))
        (?:\S+ ){1,6}zu (?:konsultieren|fragen|kontaktieren|besuchen|prüfen|lesen|wenden|suchen)
      | (?:(?:überprüfe|prüfe|verifiziere)n? (?:sie )?)(?:dies|das|diese|alle)(?: {info})?
      | (?:weitere|mehr|aktuelle|genaue) {info} (?:finden sie|findest du|gibt es)(?: \S+){1,6}
      | (?:für|zu|bei) (?:weitere[nr]?|aktuelle[nr]?|genaue(?:re)?[nr]?|mehr|konkreten?) {rest}
      | ich (?:empfehle|rate)(?: (?:ihnen|dir))?
    )
    """,
    question=r"""
    (?:können|könnten|kannst|könntest|möchten|möchtest|würden|würdest|wollen|willst|meinen|meinst
      |brauchen|brauchst|benötigen|benötigst|soll|darf|kann|haben|hast|sind|bist) (?:sie|du|ich)\b
    | (?:(?:für|mit|an|auf|aus|in|von) )?(?:was|welche[nrsm]?|wie|wo|wann|worüber|wobei
      |womit) (?:\S+ ){0,4}(?:sie|du|ich|ihnen|dir|ihr|ihre|dein|deine)\b
    | (?:worum|um (?:was|welche[nrsm]? \S+)) geht es\b|\w+en sie\b|.*\b(?:du|dir|dich|dein\w*
      |ihnen)\b
    """,
    opener=r"""
    aber|und|oder|doch|also|leider|bitte (?:beachten sie|beachte)|jedoch|allerdings|tut mir leid
    """,
    documents=r"""
    (?:(?:de[rmn]|die|das|diese[rmns]?|ihre[rmn]?|deine[rmn]?|keine[rs]? (?:der|dieser)
      |beide[rn]?) )?(?:(?:bereitgestellten?|vorliegenden?|angegebenen?|beigefügten?|gezeigten?
      |\w+ten) )*(?:dokument(?:e|en|s)?|unterlagen|kontext|texte?n?|quellen?|handbuch|\w*anleitung
      |auszug|auszügen?|\w*vertrag|bericht|brief|rechnung|broschüre|prospekt|richtlinie|protokoll
      |\w*blatt|\w*zettel|packungsbeilage|e-mail|datei\w*)
    """,
    information=r"""
    informationen?|daten|angaben?|kenntnisse?|details|auskunft|hinweise?|antwort(?:en)?|regelung\w*
      |zugriff|einzelheiten
    """,
    attributes="""
    adresse alter anzahl autor betrag datum dauer farbe frist gebühr gewicht grösse grund höhe jahr
    kosten länge name namen ort preis preises thema titel ursache wert zahl zeit zeitpunkt zweck
    """,
    definites="den dem des der die im zum zur vom am beim",
    others="""
    warum wieso weshalb sein seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres
    """,
    things="es das dies",
    interrogatives="wer wen wem wessen was wann wo woher wohin wie wieviele dass",
    claims="""
    ist sind war waren hat hatte hatten wurde wurden wird geboren starb gewann dass weil da
    welcher welche welches wo obwohl aber jedoch denn gewusst
    """,
    has_capitals=True,
)

DUTCH: Final = Phrases(
    polite=r"""
    heb je nog vragen|als (?:je|u) (?:nog )?vragen (?:hebt|heeft)
    | (?:hallo|hoi|hey|hi|dag|welkom)(?: (?:allemaal|daar|terug))?|ah|oh|hm+|tja
    | goede(?:morgen|middag|navond|nacht)|goeden? (?:morgen|middag|avond|dag)|welterusten
    | tot (?:ziens|straks|later|snel)|doei
    | (?:heel erg |hartelijk )?(?:bedankt|dank (?:je|u)(?: wel)?)(?: voor {rest})?
    | graag gedaan|geen (?:dank|probleem)|alsjeblieft|alstublieft|aangenaam|begrepen
    | (?:dat is )?(?:een )?(?:heel )?(?:goede|leuke|interessante) vraag|veel (?:succes|plezier)
      (?: {rest})?|(?:ik )?hoop(?: dat)? {rest}|dit (?:je |u )?helpt
    | laat (?:het )?(?:me|mij|ons)(?: (?:gerust|het))* (?:weten|uitleggen|kijken|nadenken
      |controleren)(?: {rest})?
    | hoe (?:gaat het|is het)(?: met (?:je|u|jou))?|(?:het gaat|met mij gaat het) goed
    | en (?:met )?(?:jou|u|jij)|(?:een )?(?:fijne|prettige) (?:dag|avond)(?: (?:nog|verder))?
    | (?:hoe|waarmee|waar) kan ik (?:\S+ ){0,4}(?:helpen|dienst zijn)(?: vandaag)?
    | goed (?:punt|idee)|goede reis|eet smakelijk|(?:dat )?hangt ervan af
    | ik (?:kan|help|wil) (?:je|u) (?:graag )?(?:\S+ ){0,5}(?:helpen|uitleggen|geven|verder)
    | als (?:je|u) (?:\S+ ){0,5}(?:wilt|wil|hebt|heeft|nodig)|met vriendelijke groeten?
    """,
    disclaimer=r"""
    (?:let op|disclaimer|sorry|pardon|helaas)
    | (?:dit|het|(?:(?:deze|alle|de|mijn) )+{info}) (?:is|zijn|vormt|vormen|vervangt
      |vervangen) (?:geen|niet) (?:\S+ ){0,3}(?:\w*advies|aanbeveling|diagnose|consult)
    | (?:(?:deze|alle|de|mijn) )+{info} (?:is|zijn|kan
      |kunnen) (?:mogelijk |alleen |ook )*(?:verouderd|onvolledig|onjuist|algemeen|bedoeld {rest})
      (?: zijn)?
    | (?:dit|deze) {info} (?:is|zijn) gebaseerd op {docs}
    | (?:het )?spijt me|(?:mijn )?excuses(?: voor {rest})?|ik bied mijn excuses aan(?: {rest})?
    | als (?:ai(?:-(?:taalmodel|model|assistent))?|taalmodel)
    | (?:geef|verstrek|verduidelijk) (?:alstublieft|alsjeblieft) {rest}|(?:volgens|in) {docs}
    """,
    refusal=r"""
    (?:die|deze|je|uw) vraag kan ik (?:helaas )?niet (?:\S+ )?beantwoorden
    | (?:(?:helaas|daar|hier|dat|daarover) )?(?:ik (?:kan|mag|zal|wil|heb|ken|begrijp|vind|weet|kon)
      |(?:kan|mag|heb|ken|begrijp|vind|weet|kon) ik) (?:\S+ ){0,6}(?:niets?|geen)(?: {rest})?
    | ik ben (?:\S+ )?(?:geen|niet) {rest}|geen idee|dat is niet bekend
    | ik weet het niet zeker
    | (?:dat|dit) valt buiten {rest}
    """,
    silence=r"""
    {docs} (?:legt|leggen) (?:dit |dat )?niet uit(?: {rest})?
    | {docs} (?:zegt|zeggen|vermeldt|vermelden|noemt|noemen|beschrijft) (?:\S+ ){0,2}?(?:niets?
      |geen)(?: {rest})?
    | {docs} (?:bevat|bevatten|geeft|geven) (?:\S+ ){0,2}?(?:niets?|geen {info})(?: {rest})?
      |{docs} (?:bevat|bevatten) (?:deze|die) {info} niet
    | er (?:is|staat|wordt) (?:geen (?:{info}|vermelding)|niets)(?: {rest})?
    | (?:dat|dit) (?:staat|wordt|blijkt) niet {rest}|in {docs} (?:staat|wordt|is
      |staan) (?:\S+ ){0,2}?(?:niets?|geen)(?: {rest})?
    | {rest} (?:wordt|worden|staat|staan|is|zijn) (?:niet(?: vermeld| genoemd)? in {docs}
      (?: vermeld)?|in {docs} niet (?:vermeld|genoemd|beschreven))
    | deze {info} is niet (?:beschikbaar|bekend|vermeld|openbaar)|onbekend|niet (?:vermeld|bekend
      |genoemd)
    """,
    referral=r"""
    (?:(?:alstublieft|alsjeblieft|altijd|ook|het is (?:beter|verstandig|raadzaam|belangrijk)(?: om)?
      |(?:je|u) (?:kunt|kan|moet|zou)(?: (?:het beste|moeten))?|ik (?:raad|adviseer)(?: (?:je|u))?
      (?: aan)?(?: om)?) )*
    (?:
      (?:raadpleeg|bel|vraag|neem(?: \S+)? contact op met|contacteer|ga naar|spreek met|praat met
        |overleg(?: \S+)? met) (?=.*\b(?:\w*arts|dokter|apotheker|advocaat|jurist|professional
        |\w*deskundigen?|expert|specialist|autoriteiten|politie|hulpdiensten|noodnummer
        |klantenservice|helpdesk|fabrikant|verkoper|leverancier|\w*adviseur)\b){rest}
      | (?:raadpleeg|bekijk|bezoek|controleer|kijk op|lees|zoek|gebruik|zie) (?=.*\b(?:websites?
        |site|pagina|app|documentatie|handleiding|gids|bronn?(?:en)?|internet|online|zoekmachine
        |nieuws|weerbericht|officiële)\b){rest}
      | controleer (?:dit|deze|alle)(?: {info})?
      | voor (?:meer|actuele|verdere|nauwkeurige) {rest}
    )
    """,
    question=r"""
    .*\b(?:u|uw|je|jij|jouw?)\b|(?:kunt|kun|kan|zou|wilt|wil|bedoelt|bedoel|mag|zal|hebt|heb|heeft
      |bent|ben|zoekt|zoek) (?:u|je|jij|ik)\b
    | om welke? \S+ gaat het\b|(?:voor |met |op )?(?:wat|welke?|hoe|waar|wanneer|waarmee
      |waarover) (?:\S+ ){0,4}(?:u|je|jij|ik|uw|jouw)\b
    """,
    opener=r"maar|en|of|dus|helaas|houd er rekening mee dat|let op dat",
    documents=r"""
    (?:(?:de|het|deze|dit|die|uw|je) )(?:(?:verstrekte|gegeven|bijgevoegde|aangeleverde) )?
      (?:documenten|document|context|tekst(?:en)?|bronnen|bron|handleiding|handboek|contract
      |brochure|rapport|bestand(?:en)?|fragment(?:en)?|pagina(?:'s)?)
    """,
    information=r"informatie|gegevens|details|toegang|antwoord(?:en)?|kennis|vermelding",
    attributes="""
    aantal adres auteur bedrag datum doel duur gewicht hoogte jaar kleur kosten lengte leeftijd naam
    oorzaak onderwerp plaats prijs reden titel waarde tijd
    """,
    definites="de het",
    others="waarom haar hun zij ze hij hem",
    things="het dit dat",
    interrogatives="wie wat wanneer waar hoe hoeveel welke welk dat die",
    claims="""
    die dat wie waar omdat want is zijn was waren heeft had hadden werd werden geboren stierf won
    maar hoewel toch
    """,
)

NORDIC: Final = Phrases(
    polite=r"""
    hej(?:san)?(?: (?:där|igen|på dig|då))?|god ?(?:morgon|kväll|dag|natt|morgen|aften)
    | v[äe]lkommen|adjö|farvel|ha det(?: (?:bra|fint|så bra|godt))?|varsågod|vær så god|selv tak
    | (?:tusen |mange )?(?:tack?|takk)(?: (?:så mycket|skal du ha|f[öo]r {rest}))?
    | ingen (?:orsak|fara|årsak)|inga problem|bare hyggelig|lycka till|held og lykke|lykke til
    | (?:det [äe]r |det var )?(?:ett? |en )?(?:mycket |meget |veldig )?(?:bra|godt?
      |intressant) (?:fråga|spørgsmål|spørsmål)
    | (?:ja?eg |jag )?(?:hoppas|håber|håper)(?: (?:att? )?(?:det|detta|dette) {rest})?
    | (?:säg (?:bara )?till|hör (?:gärna )?av dig|sig (?:bare )?til|si (?:bare )?fra)(?: {rest})?
    | (?:vad|hur|hvad|hva|hvordan) kan (?:jag|jeg) (?:hjälpa|hjælpe|hjelpe|göra) {rest}
    | (?:kan )?(?:jag|jeg) (?:kan )?(?:hjälpa|hjælpe|hjelpe) {rest}
    | (?:om|hvis) du (?:har|behöver|vill|undrar|trenger|vil) {rest}|kul att {rest}
    | ha en (?:bra|trevlig|fin|god) (?:dag|kväll|aften)|(?:vänliga|med venlig
      |med vennlig) h\w*lsning\w*
    | (?:vänliga |varma )?hälsningar|(?:har|finns det) (?:du|något) (?:fler|andra|mer|annat) {rest}
    """,
    disclaimer=r"""
    tyvärr|desværre|dessverre|(?:jag (?:är )?|jeg )?(?:ledsen|beklagar|beklager)|förlåt|undskyld
    | unnskyld|ursäkta|som (?:en )?(?:ai|stor språkmodell|språkmodell?|sprogmodel)(?:-\S+)?
    """,
    refusal=r"""
    (?:jag|jeg) (?:vet|ved|veit|känner|kender|kjenner|har|hittar|hittade|kan|kunde|kunne|får|kommer
      |[äe]r|finner|fandt|fant) (?:\S+ ){0,4}(?:inte|ikke|ingen|inga|inget|ingenting|intet)
      (?: {rest})?
    | (?:det(?:te)?|detta|där|der) (?:vet|ved|veit|kan|känner|har) (?:jag|jeg) (?:\S+ ){0,3}(?:inte
      |ikke|ingen|inga|inget|intet)(?: {rest})?
    | (?:i )?(?:dokument\w*|texten|kontexten|källorna|källan|handboken|manualen|underlaget
      |konteksten|teksten|kilderne|kildene) (?:\S+ ){0,4}(?:inte|ikke|inget|ingenting|ingen|intet)
      (?: {rest})?
    | det (?:framgår|nämns|står|nævnes|nevnes) (?:inte|inget|ingenting|ikke|intet) {rest}
    | det finns (?:ingen|inga|inget) (?:information|uppgift\w*|svar)(?: {rest})?
    """,
    question=r"""
    (?:kan|kunde|kunne|vill|vil|menar|mener|behöver|har|ønsker) (?:du|ni|jag|jeg|i)\b
    | (?:vilken|vilket|vilka|vad|hur|när|var|hvilken|hvilket|hvad|hva) (?:\S+ ){0,4}(?:du|ni|jag|jeg
      |dig)\b
    """,
    claims="""
    som att vem där eftersom är var hade blev född dog men dock vilken fordi hvor hvem
    """,
)
