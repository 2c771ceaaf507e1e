"""How greetings, refusals and questions to the user are worded, by language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

CONTRACTIONS = {
    "i'm": "i am",
    "i've": "i have",
    "i'd": "i would",
    "i'll": "i will",
    "you're": "you are",
    "what's": "what is",
    "here's": "here is",
    "that's": "that is",
    "it's": "it is",
    "there's": "there is",
    "don't": "do not",
    "doesn't": "does not",
    "isn't": "is not",
    "aren't": "are not",
    "wouldn't": "would not",
    "didn't": "did not",
    "can't": "can not",
    "cannot": "can not",
    "couldn't": "could not",
    "won't": "will not",
}


@dataclass(frozen=True, slots=True)
class Language:
    """One language's phrases.

    Attributes:
        polite: Greetings, thanks, farewells, offers of help.
        excuse: What goes with a refusal and is none.
        refusal: Not knowing, not having, not being able or willing.
        question: What a question to the user begins with.
        claims: Words with which a rest claims something.
        has_capitals: Whether common nouns are capitalised.
    """

    polite: re.Pattern[str]
    excuse: re.Pattern[str]
    refusal: re.Pattern[str]
    question: re.Pattern[str]
    claims: frozenset[str]
    has_capitals: bool = False


@cache
def languages() -> tuple[Language, ...]:
    """The languages there are phrases for."""
    return tuple(_compile(*phrases) for phrases in (_EN, _DE, _FR, _ES, _IT, _PT, _NL))


_Phrases = tuple[str, str, str, str, str]


def _compile(polite: str, excuse: str, refusal: str, question: str, claims: str) -> Language:
    return Language(
        polite=_clause(polite),
        excuse=_clause(excuse),
        refusal=_clause(refusal),
        question=re.compile(question, re.VERBOSE),
        claims=frozenset(claims.split()),
        has_capitals=claims is _DE[-1],
    )


def _clause(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{rest}", r"(\S.*)"), re.VERBOSE)


_EN: _Phrases = (
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
    """,
    r"""
    (?:i\ am\ )?(?:very\ |so\ |really\ )?sorry(?:\ (?:about|for)\ (?:that|this|the\ inconvenience))?
    | (?:i|my)\ apologi[sz]es?(?:\ for\ (?:that|this|the\ (?:inconvenience|confusion)))?
    | unfortunately|i\ am\ afraid|regrettably|however|thank\ you\ for\ understanding
    | (?:as\ )?an\ ai(?:\ (?:language\ )?model|\ assistant)?|as\ a(?:\ large)?\ language\ model
    | i\ am\ (?:just\ |only\ )?an?\ (?:ai|large\ language\ model|ai\ (?:language\ model|assistant))
    | please\ (?:provide|give|share|clarify|specify|rephrase|try|let\ me\ know|tell\ me|ask)\ {rest}
    | please\ (?:clarify|rephrase|try\ again)(?:\ later)?
    """,
    r"""
    (?:i\ am\ (?:afraid|sorry)\ (?:that\ |but\ )?|sorry\ (?:that\ |but\ )?|unfortunately\ )?
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
    | there\ is\ nothing\ (?:about|on)\ (?:\S+\ ){1,4}in\ (?:the|your|these|those)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?)
    | (?:the|your|these|those)\ (?:\S+\ )?(?:documents?|context|texts?|sources?|passages?|handbook
      |manual|excerpts?)\ (?:gives?|contains?|has|have|provides?|mentions?)\ no\ {rest}
    | i\ (?:really\ |currently\ )?(?:can|could|do|did)\ not
      \ (?:actually\ )?(?:access|browse|check|confirm|see|look\ up|find|verify|recall|determine
      |predict|open|view|read|hear|have)\ {rest}
    | (?:that|this|it|the\ answer)\ (?:does\ not\ appear|is\ not\ (?:given|found|available
      |provided|listed|described|clear))(?:\ (?:in|from)\ {rest})?
    | (?:in|from)\ (?:the|your|these|those)\ (?:\S+\ ){0,2}
      (?:documents?|context|texts?|sources?|materials?|passages?|handbook|manual|excerpts?)
      \ (?:there\ is\ no|nothing\ is\ said|no)\ {rest}
    | (?:nothing|no\ (?:information|details?))\ is\ (?:said|given|mentioned|provided|available)
      \ (?:in|about|on)\ {rest}|no\ (?:information|details?)\ (?:in|about|on)\ {rest}
    """,
    r"""
    (?:could|can|would|will|do|are|may|shall|should|have)\ (?:you|i|we)\ (?!know\b|aware\b|heard\b)
    | (?:what|which|how|where|when)\ (?:\S+\ ){0,4}(?:do|can|could|would|should|may|is|are)
      \ (?:you|your|i|we)\b
    | is\ there\ (?:anything|something)\b
    """,
    """
    that who whom whose which where when while because since although though however but as is are
    was
    were am be been being has have had did does do became born died won known called named founded
    despite also actually instead meaning
    """,
)
_DE: _Phrases = (
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
    """,
    r"""
    (?:es\ )?tut\ mir\ (?:sehr\ )?leid|entschuldigung|(?:ich\ bitte\ um\ )?verzeihung|leider
    | als\ ki(?:-(?:sprachmodell|modell|assistent))?|bitte\ (?:geben|gib|nennen|nenne)\ {rest}
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
    | das\ weiß\ ich\ (?:leider\ )?nicht(?:\ genau)?|ich\ bin\ (?:mir\ )?(?:\S+\ )?nicht\ sicher
    | es\ gibt\ (?:dazu\ |darüber\ |hierzu\ )?keine\ (?:informationen|angaben|hinweise)(?:\ {rest})?
    | (?:das\ )?wei(?:ß|ss)\ ich\ (?:leider\ )?nicht
    | ich\ wei(?:ß|ss)\ (?:es\ |das\ )?(?:leider\ )?nicht
    | (?:(?:dabei|damit|das)\ )?(?:ich\ kann|kann\ ich)\ (?:(?:ihnen|dir|das|diese|frage|dabei|damit
      |leider|hierbei)\ ){0,4}nicht\ (?:helfen|weiterhelfen|beantworten|tun|behilflich\ sein)
    """,
    r"""
    (?:können|könnten|kannst|könntest|möchten|möchtest|würden|würdest|wollen|willst|meinen|meinst
      |brauchen|brauchst|benötigen|benötigst|soll|darf|kann)\ (?:sie|du|ich)\b
    | (?:was|welche[nrsm]?|wie|wo|wann|worüber|wobei|womit)\ (?:\S+\ ){0,4}(?:sie|du|ich|ihnen
      |dir)\b
    """,
    """
    ist sind war waren hat hatte hatten wurde wurden wird geboren starb gewann dass weil da der
    welcher welche welches wo obwohl aber jedoch denn gewusst
    """,
)
_FR: _Phrases = (
    r"""
    (?:bonjour|bonsoir|salut|coucou|bienvenue)(?:\ (?:à\ tous|à\ vous))?|au\ revoir|adieu
    | bonne\ (?:nuit|journée|soirée|continuation)|à\ (?:bientôt|plus\ tard|demain)
    | merci(?:\ (?:beaucoup|bien|encore|à\ (?:vous|toi)))?
      (?:\ (?:de|pour)\ (?:demander|votre\ (?:question|message|patience)))?
    | de\ rien|je\ vous\ en\ prie|je\ t'en\ prie|avec\ plaisir|enchantée?
    | comment\ (?:allez-vous|vas-tu|ça\ va)|(?:ça|je)\ (?:va|vais)\ (?:très\ )?bien|et\ (?:vous|toi)
    | (?:comment|en\ quoi|que)\ puis-je\ (?:vous|t')?\ ?(?:aider|être\ utile|faire\ pour\ vous)
      (?:\ aujourd'hui)?
    | (?:n'hésitez\ pas\ à\ )?(?:me\ )?(?:demander|poser\ (?:vos|d'autres)\ questions)
    | n'hésite(?:z)?\ pas(?:\ .{1,50})?|(?:c'est\ )?(?:une\ )?(?:très\ )?(?:bonne
      |excellente)\ question
    | j'espère\ que\ (?:cela|ça)\ (?:vous\ |t')?(?:aide|aidera)|bonne\ chance
    | dites-moi\ si\ (?:vous\ avez|tu\ as|besoin)\ .{1,40}
    """,
    r"""
    (?:je\ suis\ )?(?:vraiment\ )?désolée?|excusez-moi|je\ m'excuse|malheureusement|je\ regrette
    | en\ tant\ qu'(?:ia|intelligence\ artificielle|assistant|modèle\ de\ langage)
    | (?:veuillez|merci\ de)\ (?:préciser|fournir|reformuler)(?:\ {rest})?
    """,
    r"""
    je\ ne\ (?:dispose|possède)\ (?:pas|malheureusement\ pas|d'aucune)(?:\ d')?\ ?
      (?:informations?|données|détails|aucune\ information)
      (?:\ (?:sur|concernant|à\ propos\ de)\ {rest})?
    | je\ n'ai\ (?:pas|aucune)\ (?:d'|de\ |assez\ d')?(?:informations?|données|détails|accès|idée)
      (?:\ (?:sur|concernant|à\ propos\ de|à)\ {rest})?
    | (?:le|la|les|ce|ces|cette)\ (?:documents?|contexte|textes?|sources?|manuel|guide|extraits?)
      (?:\ (?:fournis?|fourni|donnés?))?\ ne\ (?:dit|disent|mentionne(?:nt)?|précise(?:nt)?
      |contien(?:t
      |nent)|indique(?:nt)?|parle(?:nt)?|fourni(?:t|ssent))\ (?:pas|rien|aucune?)(?:\ {rest})?
    | je\ n'ai\ (?:malheureusement\ )?(?:pas|aucune?)\ {rest}
    | je\ ne\ (?:peux|puis|suis)\ (?:malheureusement\ )?pas\ {rest}
    | je\ ne\ (?:dispose|trouve)\ (?:malheureusement\ )?(?:pas|aucune?)\ {rest}
    | je\ ne\ sais\ pas\ (?:qui|que|quel(?:le)?s?|où|quand|comment|pourquoi|si|combien)
      \ (?:\S+\ ){0,7}\S+
    | (?:cela|ce|c'|la\ réponse|cette\ information)\ ?n'(?:est|apparaît|figure)\ pas
      (?:\ (?:mentionnée?|indiquée?|précisée?|dite?|donnée?|clair))?(?:\ (?:dans|par)\ {rest})?
    | (?:dans\ )?(?:le|les|ce|ces)\ (?:contexte|documents?|textes?|extraits?|manuel)
      \ (?:il\ )?n(?:e\ |')\S+\ (?:pas|rien|aucune?)(?:\ {rest})?
    | (?:le|les|ce|ces|la|cette)\ (?:documents?|textes?|contexte|extraits?|manuel|sources?)
      \ n(?:e\ le|e\ l'|'en|e)\ ?(?:dit|disent|précise(?:nt)?|parle(?:nt)?|indique(?:nt)?
      |mentionne(?:nt)?)\ (?:pas|rien)(?:\ {rest})?
    | (?:\S+\ ){1,8}(?:n'est|n'apparaît|ne\ figure|n'a\ pas\ été|ne\ sont|n'apparaissent)(?:\ pas)?
      \ ?(?:mentionnée?s?|indiquée?s?|précisée?s?|donnée?s?|décrite?s?)?\ (?:dans|par)\ (?:les?|la
      |ces?|cette|vos)\ (?:\S+\ )?(?:documents?|textes?|contexte|extraits?|manuel|sources?)
    | aucune\ information(?:\ {rest})?
    | il\ n'y\ a\ (?:pas|aucune?|rien)\ ?(?:d'|de\ )?(?:informations?|mention|sur|à)?(?:\ {rest})?
    | je\ ne\ (?:le\ )?(?:sais|comprends)\ pas(?:\ la\ réponse|\ la\ question|\ votre\ question)?
    | je\ ne\ (?:peux|puis)\ (?:pas|malheureusement\ pas)\ (?:vous\ |t'|y\ |le\ )?
      (?:aider|répondre|faire|fournir)(?:\ {rest})?
    """,
    r"""
    (?:pouvez|pourriez|peux|pourrais|voulez|voudriez|souhaitez|souhaites|veux|avez|as|puis|aimeriez)
      -(?:vous|tu|je)\b
    | (?:que|quel|quelle|quels|quelles|comment|où|quand|de\ quoi|en\ quoi)\ (?:\S+\ ){0,4}\S*
      (?:vous|tu|je)\b
    """,
    """
    qui que qu'il qu'elle dont où car parce est sont était étaient fut a ont été né née mort mais
    cependant lequel laquelle puisque comme
    """,
)
_ES: _Phrases = (
    r"""
    (?:hola|bienvenid[oa]s?|saludos)(?:\ (?:a\ todos|de\ nuevo))?|buen(?:os|as)\ (?:días|tardes
      |noches)
    | adiós|hasta\ (?:luego|pronto|mañana|la\ vista)|cuídate|nos\ vemos
    | (?:muchas\ |muchísimas\ )?gracias(?:\ (?:por\ (?:preguntar|tu\ mensaje|su\ mensaje)|a\ ti))?
    | de\ nada|con\ (?:mucho\ )?gusto|un\ placer|encantad[oa]|no\ hay\ de\ qué
    | (?:cómo|qué\ tal)(?:\ (?:estás|está|te\ va))?|(?:estoy\ )?(?:muy\ )?bien|y\ (?:tú|usted)
    | que\ (?:tengas|tenga)\ (?:un\ )?buen\ día|buen\ día
    | (?:en\ qué|cómo)\ (?:puedo|te\ puedo|le\ puedo)\ (?:ayudarte|ayudarle|ayudar
      |servirle)(?:\ hoy)?
    | (?:es\ una\ )?(?:muy\ )?(?:buena|excelente)\ pregunta|espero\ que\ (?:esto\ )?
      (?:te\ |le\ )?(?:ayude
      |sirva)(?:\ de\ ayuda)?|(?:avísame|dime|hazme\ saber)\ si\ (?:necesitas|quieres
      |tienes)\ .{1,40}
      |buena\ suerte|no\ dudes\ en\ (?:preguntar(?:me)?|consultar(?:me)?)(?:\ .{1,40})?
    | (?:hay\ )?(?:algo|alguna\ cosa)\ más\ en\ (?:lo\ )?que\ pueda\ ayudar(?:te|le)
    """,
    r"""
    lo\ (?:siento|lamento)(?:\ mucho)?|disculp[ae]|perdón|perdona|lamentablemente
      |desafortunadamente
    | como\ (?:ia|modelo\ de\ lenguaje|inteligencia\ artificial|asistente)
    | por\ favor\ (?:proporciona|proporcione|indica|indique|aclara|aclare)\ {rest}
    """,
    r"""
    no\ (?:tengo|dispongo\ de|encuentro|encontré)\ (?:ninguna\ |suficiente\ |más\ )?
      (?:información|datos|detalles|acceso|idea)(?:\ (?:específica|disponible))?
      (?:\ (?:sobre|acerca\ de|de|a)\ {rest})?
    | (?:el|la|los|las|este|estos)\ (?:documentos?|contexto|textos?|fuentes?|manual|guía|extractos?)
      (?:\ (?:proporcionad[oa]s?|dad[oa]s?))?\ no\ (?:dicen?|mencionan?|contienen?|especifican?
      |indican?|incluyen?|hablan?)(?:\ (?:nada|ninguna))?(?:\ {rest})?
    | no\ (?:tengo|dispongo\ de|encuentro|conozco|sé)\ {rest}
    | no\ (?:puedo|logro|consigo)\ {rest}|no\ soy\ capaz\ de\ {rest}
    | (?:eso|esto|la\ respuesta|esa\ información)?\ ?no\ (?:se\ (?:menciona|indica|dice
      |especifica)|aparece|figura|consta|está)(?:\ {rest})?
    | en\ (?:el|la|los|las|estos?)\ (?:contexto|documentos?|textos?|manual|fuentes?)\ no\ {rest}
    | (?:\S+\ ){1,8}no\ (?:se\ (?:menciona|indica|especifica|describe|da|encuentra)|aparece|figura
      |consta|está\ (?:indicad|mencionad|especificad)[oa])n?\ en\ (?:el|la|los|las|estos?)
      \ (?:contexto|documentos?|textos?|manual|fuentes?|extractos?)(?:\ \S+)?
    | no\ hay\ (?:ninguna\ )?(?:información|mención|datos|nada)(?:\ {rest})?
    | (?:yo\ )?no\ (?:lo\ )?(?:sé|entiendo)(?:\ la\ (?:respuesta|pregunta))?
    | no\ puedo\ (?:ayudar(?:te|le)?|responder|hacer(?:lo)?|proporcionar|dar(?:te|le)?)(?:\ {rest})?
    """,
    r"""
    (?:puedes?|podrías?|quieres?|quisieras?|(?:te|le)\ gustaría|deseas?|necesitas?|tienes?
      |puedo)\ \S
    | (?:qué|cuál|cuáles|cómo|cuándo|dónde|en\ qué|sobre\ qué)\ (?:\S+\ ){0,4}
      (?:usted|puedo|quieres?|necesitas?|deseas?|te|le|tu|su)\b
    """,
    """
    que quien quienes cual donde porque pues es son era eran fue fueron ha han nació murió ganó pero
    aunque como está están
    """,
)
_IT: _Phrases = (
    r"""
    (?:ciao|salve|benvenut[oaie])(?:\ a\ tutti)?|buon(?:giorno|asera|anotte)|buona\ (?:giornata
      |serata
    |notte|sera)|arrivederci|a\ (?:presto|dopo|domani)
    | (?:molte\ |tante\ )?grazie(?:\ (?:mille|tante|a\ (?:te|lei)|per\ (?:aver\ chiesto
      |la\ domanda)))?
    | prego|di\ (?:nulla|niente)|con\ piacere|piacere(?:\ di\ conoscerti)?
    | (?:è\ una\ )?(?:ottima|bella|buona)\ domanda|spero\ (?:che\ )?(?:questo\ )?
      (?:ti\ |le\ )?(?:aiuti
      |sia\ (?:utile|d'aiuto))|(?:fammi|mi\ faccia)\ sapere\ se\ .{1,40}|buona\ fortuna
    | non\ esitare\ a\ (?:chiedere|contattarmi)(?:\ .{1,40})?
    | come\ (?:stai|sta|va)|(?:sto|tutto)\ (?:molto\ )?bene|e\ (?:tu|lei)
    | (?:come|in\ (?:che\ )?cosa|in\ che\ modo)\ posso\ (?:aiutarti|aiutarla
      |esserti\ utile|esserle\ utile)(?:\ oggi)?
    """,
    r"""
    mi\ (?:dispiace|scuso|scusi)(?:\ molto)?|scus[ai]|purtroppo|spiacente
    | (?:in\ quanto|come)\ (?:ia|modello\ linguistico|intelligenza\ artificiale|assistente)
    | per\ favore\ (?:fornisci|fornisca|specifica|specifichi)\ {rest}
    """,
    r"""
    non\ (?:ho|dispongo\ di|trovo|ho\ trovato)\ (?:alcuna\ |abbastanza\ |sufficienti\ )?
      (?:informazioni|informazione|dati|dettagli|accesso|idea)
      (?:\ (?:su|sul|sulla|riguardo\ a|a|di)\ {rest})?
    | (?:il|la|i|le|gli|questo|questi)\ (?:document[oi]|contesto|test[oi]|font[ei]|manuale|guida)
      (?:\ fornit[oaie])?\ non\ (?:dic(?:e|ono)|menzionan?o?|conten(?:gono)|contiene|specifican?o?
      |indican?o?|parlan?o?)(?:\ (?:nulla|niente|alcuna))?(?:\ {rest})?
    | non\ (?:ho|dispongo\ di|trovo|conosco|so)\ {rest}
    | non\ (?:posso|riesco\ a)\ {rest}|non\ sono\ in\ grado\ di\ {rest}
    | (?:questo|ciò|la\ risposta)?\ ?non\ (?:è|viene)\ (?:menzionat[oa]|indicat[oa]|specificat[oa]
      |riportat[oa]|dett[oa])(?:\ {rest})?
    | (?:nel|nei|nella|nelle|negli)\ (?:contesto|document[oi]|test[oi]|manuale|font[ei])
      \ non\ {rest}
    | (?:\S+\ ){1,8}non\ (?:è|viene|vengono|sono|compare|risulta|figura)\ ?(?:(?:menzionat|indicat
      |specificat|riportat|descritt)[oaie])?\ (?:nel|nei|nella|nelle|negli|da[il]|dagli)
      \ (?:contesto|document[oi]|test[oi]|manuale|font[ei])(?:\ \S+)?
    | non\ (?:ci\ sono|c'è)\ (?:alcuna\ )?(?:informazion[ei]|menzione)(?:\ {rest})?
    | non\ (?:lo\ )?(?:so|capisco)(?:\ la\ (?:risposta|domanda))?
    | non\ posso\ (?:aiutar(?:ti|la)|rispondere|far(?:e|lo)|fornire)(?:\ {rest})?
    """,
    r"""
    (?:puoi|può|potrebbe|potresti|vuole|vuoi|desideri|desidera|posso|vorresti|vorrebbe
      |hai\ bisogno)\ \S
    | (?:che|cosa|quale|quali|come|dove|quando|di\ cosa|in\ cosa)\ (?:\S+\ ){0,4}
      (?:posso|vuoi|vuole|vorresti|desideri|ti|tu|lei)\b
    """,
    """
    che chi cui quale dove perché poiché è sono era erano fu furono ha hanno nato nata morto vinse
    ma
    però come
    """,
)
_PT: _Phrases = (
    r"""
    (?:olá|oi|bem-vind[oa]s?|saudações)(?:\ (?:a\ todos|de\ novo))?|bo[ma]\ (?:dia|tarde|noite)
    | adeus|tchau|até\ (?:logo|breve|mais|amanhã)
    | (?:muito\ )?obrigad[oa](?:\ (?:por\ (?:perguntar|sua\ mensagem)))?
    | de\ nada|por\ nada|disponha|(?:é\ )?um\ prazer|prazer\ em\ conhecê-l[oa]
    | (?:como\ (?:você\ )?(?:está|vai)|tudo\ bem)(?:\ com\ você)?|(?:estou|tudo)\ bem|e\ você
    | tenha\ um\ (?:bom|ótimo)\ dia|(?:é\ uma\ )?(?:boa|ótima|excelente)\ pergunta
    | espero\ (?:que\ isso\ )?(?:tenha\ )?(?:te\ )?(?:ajudado|ajude|ajudar)|boa\ sorte
    | (?:avise-me|me\ avise|diga-me)\ se\ .{1,40}|não\ hesite\ em\ (?:perguntar
      |contatar)(?:\ .{1,40})?
    | (?:como|em\ que|no\ que)\ posso\ (?:ajudar|ajudá-l[oa]|te\ ajudar|ajudar\ você)(?:\ hoje)?
    """,
    r"""
    (?:sinto|lamento)(?:\ muito)?|desculp[ae]|(?:peço\ )?desculpas|infelizmente|perdão
    | como\ (?:uma?\ )?(?:ia|modelo\ de\ linguagem|inteligência\ artificial|assistente)
    | por\ favor\ (?:forneça|informe|especifique|esclareça)\ {rest}
    """,
    r"""
    (?:eu\ )?não\ sei\ (?:quem|qual|quando|onde|como|quanto|se)\ (?:\S+\ ){0,7}\S+
    | (?:eu\ )?não\ tenho\ como\ saber(?:\ \S+)?
    | (?:eu\ )?não\ (?:tenho|disponho\ de|encontrei|encontro)\ (?:nenhuma\ |mais\ )?
      (?:informações|informação|dados|detalhes|acesso|ideia)(?:\ (?:suficientes|específicas))?
      (?:\ (?:sobre|acerca\ de|a|de)\ {rest})?
    | (?:o|a|os|as|este|estes)\ (?:documentos?|contexto|textos?|fontes?|manual|guia)
      (?:\ fornecid[oa]s?)?\ não\ (?:diz(?:em)?|menciona(?:m)?|cont(?:é|ê)m|especifica(?:m)?
      |indica(?:m)?|fala(?:m)?)(?:\ (?:nada|nenhuma))?(?:\ {rest})?
    | (?:eu\ )?não\ (?:tenho|disponho\ de|encontrei|encontro|conheço|sei)\ {rest}
    | (?:eu\ )?não\ (?:posso|consigo|consegui|pude)\ {rest}|não\ sou\ capaz\ de\ {rest}
    | (?:isso|isto|a\ resposta)?\ ?não\ (?:é\ mencionad[oa]|é\ indicad[oa]|consta|aparece
      |está)(?:\ {rest})?
    | (?:no|nos|na|nas)\ (?:contexto|documentos?|textos?|manual|fontes?)\ não\ {rest}
    | (?:\S+\ ){1,8}não\ (?:é|são|está|estão|aparece|consta|figura)\ ?(?:(?:mencionad|indicad
      |especificad|descrit|informad)[oa]s?)?\ (?:no|nos|na|nas|pelos?|pelas?)
      \ (?:contexto|documentos?|textos?|manual|fontes?)(?:\ \S+)?
    | não\ há\ (?:nenhuma\ )?(?:informaç(?:ão|ões)|menção|nada)(?:\ {rest})?
    | (?:eu\ )?não\ (?:sei|entendi|entendo)(?:\ a\ (?:resposta|pergunta))?
    | (?:eu\ )?não\ posso\ (?:ajudar|ajudá-l[oa]|responder|fazer\ isso|fornecer)(?:\ {rest})?
    """,
    r"""
    (?:você\ )?(?:pode|poderia|podes|quer|gostaria|deseja|precisa|posso)\ \S
    | (?:o\ que|que|qual|quais|como|onde|quando|em\ que|sobre\ o\ que)\ (?:\S+\ ){0,4}
      (?:você|posso|gostaria|deseja|quer)\b
    """,
    """
    que quem qual onde porque pois é são era eram foi foram tem têm nasceu morreu ganhou mas porém
    como está
    """,
)
_NL: _Phrases = (
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
    """,
    r"""
    (?:het\ )?spijt\ me|sorry|excuses|mijn\ excuses|pardon|helaas
    | als\ (?:ai(?:-(?:taalmodel|model|assistent))?|taalmodel)
    | (?:geef|verstrek|verduidelijk)\ (?:alstublieft|alsjeblieft)\ {rest}
    """,
    r"""
    (?:ik\ heb|heb\ ik)\ (?:helaas\ )?(?:geen|niet\ genoeg)\ (?:informatie|gegevens|details
      |toegang|idee)(?:\ (?:over|van|tot)\ {rest})?
    | (?:de|het|deze|dit)\ (?:documenten|document|context|teksten?|bronnen|bron|handleiding
      |handboek)\ (?:zegt|zeggen|vermeldt|vermelden|bevat|bevatten|noemt|noemen)
      \ (?:daar\ |hier\ )?(?:niets|niet|geen)(?:\ {rest})?
    | er\ (?:is|staat|wordt)\ (?:geen|niets)\ {rest}
    | (?:dat|dit)\ (?:staat|wordt|blijkt)\ niet\ {rest}|dat\ is\ niet\ bekend
    | (?:dat|dit)\ (?:kan\ ik|weet\ ik)\ (?:helaas\ )?niet(?:\ \S+)?
    | ik\ heb\ (?:daar|hier)(?:over)?\ (?:helaas\ )?geen\ {rest}
    | (?:de|het)\ (?:tekst|context|document|documenten|handleiding)\ (?:vermeldt|vermelden|zegt
      |noemt)\ (?:dit|dat|daar|het)\ niet
    | in\ (?:de|het|deze)\ (?:context|documenten|document|teksten?|bronnen|handleiding)
      \ (?:staat|wordt|is|staan)\ (?:daar\ )?(?:niets|niet|geen)(?:\ {rest})?
    | (?:ik\ heb|heb\ ik)\ (?:helaas\ )?(?:geen|niet)\ {rest}
    | (?:\S+\ ){1,8}(?:wordt|worden|staat|staan|is|zijn)\ (?:niet(?:\ vermeld|\ genoemd)?\ in\ (?:de
      |het|deze)\ (?:context|documenten|document|teksten?|bronnen|handleiding)(?:\ vermeld)?
      |in\ (?:de|het|deze)\ (?:context|documenten|document|teksten?|bronnen|handleiding)\ niet
      \ (?:vermeld|genoemd|beschreven))
    | (?:ik\ kan|kan\ ik)\ (?:\S+\ ){0,6}niet\ (?:vinden|zien|zeggen|bevestigen|opzoeken
      |controleren|raadplegen|weten)
    | (?:dat\ )?(?:ik\ weet|weet\ ik)\ (?:het\ |dat\ )?(?:helaas\ )?niet
    | (?:(?:daar|hier)\ )?(?:ik\ kan|kan\ ik)\ (?:(?:je|u|dat|deze|vraag|helaas|daar|hier)\ ){0,4}
      niet\ (?:mee\ )?(?:helpen|bij\ helpen|beantwoorden|doen)
    """,
    r"""
    (?:kunt|kun|kan|zou|wilt|wil|bedoelt|bedoel|mag|zal|hebt|heb|heeft)\ (?:u|je|jij|ik)\b
    | (?:wat|welke|hoe|waar|wanneer|waarmee|waarover)\ (?:\S+\ ){0,4}(?:u|je|jij|ik|uw|jouw)\b
    """,
    """
    die dat wie waar omdat want is zijn was waren heeft had hadden werd werden geboren stierf won
    maar hoewel toch
    """,
)
