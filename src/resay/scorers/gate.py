"""Which responses are checked at all: the `when` of a policy and of its steps.

Whether there is anything to check is decided cheaply, and wrongly only on the safe side: a sentence
nobody checks is worse than a check for nothing. A response is left out only when each of its
clauses is one of the phrases below, is code, or is a question put to the user; a digit anywhere, a
word too many, or a language not listed here, and it is checked.

Phrases are patterns for whole clauses by language: in small letters, between commas or other
punctuation, with contractions written out. `{rest}` stands for a few words that say what a clause
is about, such as a name.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, cast, get_args

import anyio.to_thread
from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from resay._internal.importing import import_named, is_async, name_of
from resay._internal.strict import Strict
from resay.core.passage import Passage
from resay.core.query import Query
from resay.errors import ConfigurationError

CONTRACTIONS = {
    "i'm": "i am",
    "i've": "i have",
    "i'd": "i would",
    "i'll": "i will",
    "you're": "you are",
    "what's": "what is",
    "here's": "here is",
    "don't": "do not",
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
    i\ (?:do\ not|did\ not|have\ not)\ (?:currently\ |really\ )?(?:have|find|found)
      (?:\ access\ to)?(?:\ (?:any|enough|sufficient|the|much))?
      (?:\ (?:specific|reliable|detailed|further|more|additional|personal|real-time|relevant))?
      \ (?:information|info|data|knowledge|details|records|access)
      (?:\ available)?(?:\ (?:about|on|regarding|of|for|to)\ {rest})?
    | i\ have\ no\ (?:information|data|knowledge|details|records|idea)
      (?:\ (?:about|on|regarding|of)\ {rest})?
    | i\ (?:can|could)\ not\ find(?:\ any)?\ (?:information|data|details|records)
      (?:\ (?:about|on|regarding|of|for)\ {rest})?
    | i\ (?:can|could|will)\ not\ (?:help|assist|comply|answer|do|provide|give|share|discuss|offer
      |generate|create|write|access|fulfill)(?:\ {rest})?
    | i\ am\ (?:not\ able|unable)\ to\ (?:help|assist|comply|answer|do|provide|give|share|discuss
      |offer|generate|create|write|access|fulfill)(?:\ {rest})?
    | i\ (?:really\ )?do\ not\ (?:know|understand)
      (?:\ the\ answer|\ (?:that|this|your|the)\ question)?
      (?:\ to\ (?:that|this|your)(?:\ question)?)?
    | i\ am\ not\ sure|i\ am\ not\ familiar\ with\ {rest}
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
      |deine)
      \ (?:nachfrage|frage|nachricht|geduld)))?
    | (?:sehr\ )?gern(?:e)?(?:\ geschehen)?|bitte(?:\ (?:schön|sehr))?|keine\ ursache
    | (?:und\ )?(?:wie\ geht\ es\ )?(?:dir|ihnen)(?:\ heute)?|wie\ geht's(?:\ dir)?
    | mir\ geht\ es\ (?:gut|prima)|es\ geht\ mir\ gut|(?:es\ )?freut\ mich
    | (?:ich\ wünsche\ (?:dir|ihnen)\ )?(?:einen\ )?schönen\ (?:tag|abend)(?:\ noch)?
    | (?:wie|womit)\ kann\ ich\ (?:dir|ihnen)(?:\ heute)?\ (?:helfen|behilflich\ sein|weiterhelfen)
    | kann\ ich\ (?:dir|ihnen)\ (?:sonst\ |noch\ )?(?:bei\ etwas|irgendwie|mit\ etwas)?\ ?helfen
    | was\ kann\ ich\ (?:heute\ )?für\ (?:sie|dich)\ tun
    """,
    r"""
    (?:es\ )?tut\ mir\ (?:sehr\ )?leid|entschuldigung|(?:ich\ bitte\ um\ )?verzeihung|leider
    | als\ ki(?:-(?:sprachmodell|modell|assistent))?|bitte\ (?:geben|gib|nennen|nenne)\ {rest}
    """,
    r"""
    (?:ich\ habe|habe\ ich|mir\ liegen)\ (?:leider\ )?(?:keine?|keinen)\ (?:genauen\ |näheren\ )?
      (?:informationen|daten|angaben|kenntnisse?|zugriff|ahnung|details)
      (?:\ (?:über|zu|zum|zur|von|auf)\ {rest})?(?:\ (?:vor|finden))?
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
    | (?:hay\ )?(?:algo|alguna\ cosa)\ más\ en\ (?:lo\ )?que\ pueda\ ayudar(?:te|le)
    """,
    r"""
    lo\ (?:siento|lamento)(?:\ mucho)?|disculp[ae]|perdón|perdona|lamentablemente|desafortunadamente
    | como\ (?:ia|modelo\ de\ lenguaje|inteligencia\ artificial|asistente)
    | por\ favor\ (?:proporciona|proporcione|indica|indique|aclara|aclare)\ {rest}
    """,
    r"""
    no\ (?:tengo|dispongo\ de|encuentro|encontré)\ (?:ninguna\ |suficiente\ |más\ )?
      (?:información|datos|detalles|acceso|idea)(?:\ (?:específica|disponible))?
      (?:\ (?:sobre|acerca\ de|de|a)\ {rest})?
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
    | tenha\ um\ (?:bom|ótimo)\ dia
    | (?:como|em\ que|no\ que)\ posso\ (?:ajudar|ajudá-l[oa]|te\ ajudar|ajudar\ você)(?:\ hoje)?
    """,
    r"""
    (?:sinto|lamento)(?:\ muito)?|desculp[ae]|(?:peço\ )?desculpas|infelizmente|perdão
    | como\ (?:uma?\ )?(?:ia|modelo\ de\ linguagem|inteligência\ artificial|assistente)
    | por\ favor\ (?:forneça|informe|especifique|esclareça)\ {rest}
    """,
    r"""
    (?:eu\ )?não\ (?:tenho|disponho\ de|encontrei|encontro)\ (?:nenhuma\ |mais\ )?
      (?:informações|informação|dados|detalhes|acesso|ideia)(?:\ (?:suficientes|específicas))?
      (?:\ (?:sobre|acerca\ de|a|de)\ {rest})?
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
      |toegang|idee)
      (?:\ (?:over|van|tot)\ {rest})?
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
Nothing = Literal["a greeting", "only code", "a refusal", "only questions"]
_Kind = Literal["polite", "excuse", "refusal", "question"]
_MAX_SENTENCES = 12
_MAX_CHARS = 240
_MAX_REST_WORDS = 8
_MAX_QUESTION_WORDS = 16
_DIGIT = re.compile(r"\d")
_CLAUSES = re.compile(r"[^\w\s'-]+|[_\n]")
_WORD = re.compile(r"[\w'-]+")
_CONNECTORS = re.compile(
    r"\A(?:(?:and|but|so|aber|und|doch|mais|et|pero|y|ma|e|mas|maar|en|unfortunately|however|leider"
    r"|malheureusement|helaas|lamentablemente|purtroppo|infelizmente)\ (?=\S+\ \S))+"
)
_QUESTION = re.compile(r"\?[\s\"'”’»)\]*_]*\Z")
_DOUBTFUL = re.compile(
    r"\b(?:was|were|had|because|since|although|though|as|given|right|correct|isn't|aren't|wasn't"
    r"|weren't|didn't|doesn't|who|whose|waren?|war|dass|weil|que|qui|parce|puisque|porque|perché"
    r"|che|omdat|dat|want)\b"
)
_THAT = re.compile(r"\bthat(?: (?:request|question|topic|task))?\Z")
_INTRODUCES = re.compile(r"here|hier|voici|aquí|aqui|ecco")
_LEADS_IN = re.compile(
    r"""
    (?:sure|certainly|of\ course|absolutely)(?:\ thing)?
    | here\ (?:is|are)\ (?:the|your|an?|some)(?:\ (?:python|javascript|java|sql|bash|simple|short
      |updated|full|complete|corrected|example))*\ (?:code|function|script|example|program|snippet
      |query|command|version|implementation|solution)
    | hier\ ist\ (?:der|ein|das)\ (?:code|beispiel|skript)|voici\ (?:le|un)\ (?:code|exemple|script)
    | aquí\ (?:está|tienes)\ (?:el|un)\ (?:código|ejemplo)|ecco\ (?:il|un)\ (?:codice|esempio)
    | aqui\ está\ (?:o|um)\ (?:código|exemplo)|hier\ is\ (?:de|een)\ (?:code|voorbeeld)
    """,
    re.VERBOSE,
)


def nothing_to_check(passage: Passage) -> Nothing | None:
    """Say what a response is in which there is nothing to check.

    Known are greetings, thanks and farewells, refusals and answers that say they do not know, in
    English, German, French, Spanish, Italian, Portuguese and Dutch; questions to the user; and
    code.

    Args:
        passage: The response.

    Returns:
        What it is, or None when it is to be checked.
    """
    kinds = {piece.kind for piece in passage.pieces if not piece.text.isspace()}
    sentences = [sentence.text for sentence in passage.sentences]
    if len(sentences) > _MAX_SENTENCES or any(_is_too_much(text) for text in sentences):
        return None
    if "code" in kinds:
        is_code = kinds <= {"prose", "code", "rule", "heading"} and _only_leads_in(sentences)
        return "only code" if is_code else None
    if not sentences or not kinds <= {"prose", "rule"}:
        return None
    for language in languages():
        found = _nothing_in(sentences, language)
        if found:
            return found
    return None


def _is_too_much(text: str) -> bool:
    return len(text) > _MAX_CHARS or _DIGIT.search(text) is not None


def _only_leads_in(sentences: list[str]) -> bool:
    clauses = [clause for text in sentences for clause in _clauses(text)]
    if not all(_LEADS_IN.fullmatch(clause) for clause in clauses):
        return False
    # "Sure!" by itself may be the answer to a question.
    return not clauses or any(_INTRODUCES.match(clause) for clause in clauses)


def _nothing_in(sentences: list[str], language: Language) -> Nothing | None:
    kinds: set[_Kind] = set()
    for text in sentences:
        kind = _kind(text, language)
        if kind is None:
            return None
        kinds.add(kind)
    if "refusal" in kinds:
        return "a refusal"
    if kinds == {"question"}:
        return "only questions"
    # An excuse alone mostly takes back something that should be looked at.
    return "a greeting" if "polite" in kinds and "excuse" not in kinds else None


def _kind(text: str, language: Language) -> _Kind | None:
    kinds = {_kind_of_clause(clause, language) for clause in _clauses(text)}
    if None in kinds or not kinds:
        return "question" if _asks_user(text, language) else None
    if "refusal" in kinds:
        return "refusal"
    return "excuse" if "excuse" in kinds else "polite"


def _kind_of_clause(clause: str, language: Language) -> _Kind | None:
    if language.polite.fullmatch(clause):
        return "polite"
    refusal = language.refusal.fullmatch(clause)
    if refusal and _claims_nothing(refusal, language):
        return "refusal"
    excuse = language.excuse.fullmatch(clause)
    return "excuse" if excuse and _claims_nothing(excuse, language) else None


def _claims_nothing(match: re.Match[str], language: Language) -> bool:
    words = _THAT.sub("", next(filter(None, match.groups()), "")).split()
    return len(words) <= _MAX_REST_WORDS and language.claims.isdisjoint(words)


def _asks_user(text: str, language: Language) -> bool:
    if not _QUESTION.search(text):
        return False
    words = _WORD.findall(text)
    named = [word for word in words[1:] if word[0].isupper() and word.partition("'")[0] != "I"]
    if len(words) > _MAX_QUESTION_WORDS or (named and not language.has_capitals):
        return False
    asked = " ".join(_clauses(text))
    return language.question.match(asked) is not None and not _DOUBTFUL.search(asked)


def _clauses(text: str) -> Iterator[str]:
    """The clauses in small letters, without punctuation and without the words that join them."""
    for clause in _CLAUSES.split(text.casefold().replace("’", "'")):
        words = (word.strip("-'") for word in clause.split())
        joined = " ".join(CONTRACTIONS.get(word, word) for word in words if word)
        if joined:
            yield _CONNECTORS.sub("", joined)


Decide = Callable[[Query | None, str], bool | Awaitable[bool]]
"""Called with the query and the response's text; says whether to check it."""


def resolve(function: str | Decide) -> Decide:
    """Find a function, and see that it can be called with a query and a text.

    Args:
        function: The function, or where it is, `package.module:name`. What is imported is
            imported once.

    Returns:
        The function.

    Raises:
        ConfigurationError: It cannot be imported, or not be called like that.
    """
    found: Any = import_named(function) if isinstance(function, str) else function
    if not callable(found):
        raise ConfigurationError(f"{name_of(function)!r} is not a function; name one")
    try:
        inspect.signature(found).bind(None, "")
    except TypeError as error:
        raise ConfigurationError(
            f"{name_of(function)!r} must take two arguments, the query and the response's text"
        ) from error
    except ValueError:
        pass  # Some functions written in C do not say what they take.
    return cast("Decide", found)


async def asks(function: Decide, query: Query | None, text: str) -> bool:
    """Ask a function of the user's, in a thread of its own unless it is asynchronous.

    Args:
        function: What `resolve` found.
        query: The query, where there is one.
        text: The response's text.

    Returns:
        What it says.

    Raises:
        TypeError: It says nothing.
        Exception: Whatever it raises.
    """
    if is_async(function):
        answer: Any = function(query, text)
    else:
        # Abandoned, so that a function that hangs does not hold up a deadline.
        answer = await anyio.to_thread.run_sync(function, query, text, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None:
        raise TypeError("it returned None; return True or False")
    return bool(answer)


_log = logging.getLogger(__name__)
Role = Literal["user", "tool", "system", "developer", "assistant", "function"]
_ROLES: tuple[object, ...] = get_args(Role)
_PATH = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
Count = Annotated[int, Field(ge=0)]


def _function(value: object) -> object:
    if value is None or callable(value):
        return value
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    if not re.match(_PATH, value):
        raise PydanticCustomError("import_path", "must be written as package.module:function")
    return value


Function = Annotated[
    str | Decide | None,
    PlainValidator(_function),
    PlainSerializer(lambda f: f and name_of(f), when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _PATH}, {"type": "null"}]}),
]


class When(Strict):
    """What must be so for a response to be checked. Without a rule every response is.

    A rule that cannot be decided is no reason to skip a check.
    """

    min_chars: Count | None = Field(
        default=None,
        description="Check only responses with at least this many characters, white space around "
        "them not counted.",
    )
    max_chars: Count | None = Field(
        default=None, description="Check only responses with at most this many characters."
    )
    min_sentences: Count | None = Field(
        default=None, description="Check only responses with at least this many sentences."
    )
    max_sentences: Count | None = Field(
        default=None, description="Check only responses with at most this many sentences."
    )
    roles: Annotated[tuple[Role, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="Check only when the conversation's last message is from one of these.",
    )
    checkable: bool = Field(
        default=False,
        description="Skip responses that claim nothing: greetings, code, refusals, questions.",
    )
    call: Function = Field(
        default=None,
        description="A function, package.module:name, that is given the query and the response's "
        "text and returns whether to check it. It may be async.",
    )

    @model_validator(mode="after")
    def _must_leave_something(self) -> When:
        for what in ("chars", "sentences"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if least is not None and most is not None and least > most:
                raise ValueError(
                    f"min_{what} ({least!r}) must not be greater than max_{what} ({most!r})"
                )
        return self

    def load(self) -> None:
        """Import the function of `call` now, which the first check would do otherwise.

        Raises:
            ConfigurationError: It cannot be imported, or not be called with a query and a text.
        """
        if self.call is not None:
            resolve(self.call)

    def before(self, query: Query | None) -> str | None:
        """Say why not to check, as far as that is known before there is a response.

        Args:
            query: The query, where there is one.

        Returns:
            The reason, one line without content; None to check.
        """
        if self.roles is None or query is None or not query.messages:
            return None
        role = query.messages[-1].get("role")
        if role in self.roles:
            return None
        shown = repr(role) if role in _ROLES else "something else"
        return f"the last message is from {shown}, not from `when.roles` ({', '.join(self.roles)})"

    async def after(self, query: Query | None, passage: Passage) -> str | None:
        """Say why not to check a response.

        Args:
            query: The query, where there is one.
            passage: The response.

        Returns:
            The reason, one line without content; None to check. `before` is not asked again.

        Raises:
            ConfigurationError: The function of `call` cannot be imported or called.
        """
        return (
            self._by_length(passage)
            or self._by_gate(passage)
            or await self._by_call(query, passage)
        )

    def _by_length(self, passage: Passage) -> str | None:
        chars = len(passage.text.strip())
        sentences = len(passage.sentences)
        return (
            _too_few(chars, "character", "min_chars", self.min_chars)
            or _too_many(chars, "character", "max_chars", self.max_chars)
            or _too_few(sentences, "sentence", "min_sentences", self.min_sentences)
            or _too_many(sentences, "sentence", "max_sentences", self.max_sentences)
        )

    def _by_gate(self, passage: Passage) -> str | None:
        kind = nothing_to_check(passage) if self.checkable else None
        return f"the response is {kind}, with nothing to check (`when.checkable`)" if kind else None

    async def _by_call(self, query: Query | None, passage: Passage) -> str | None:
        if self.call is None:
            return None
        name = name_of(self.call)
        function = resolve(self.call)
        try:
            is_wanted = await asks(function, query, passage.text)
        except Exception as error:
            # Whatever goes wrong in it must not lose the check.
            _log.warning(
                "%s of `when.call` failed (%s); the response is checked", name, type(error).__name__
            )
            return None
        return None if is_wanted else f"`when.call` ({name}) says not to check the response"


def _too_few(count: int, what: str, rule: str, least: int | None) -> str | None:
    if least is None or count >= least:
        return None
    return f"the response has {_counted(count, what)}, fewer than `when.{rule}` ({least})"


def _too_many(count: int, what: str, rule: str, most: int | None) -> str | None:
    if most is None or count <= most:
        return None
    return f"the response has {_counted(count, what)}, more than `when.{rule}` ({most})"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
