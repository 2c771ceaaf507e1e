"""What a question asks for: who or what, an invention, or where to turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from resay.core.details import words_in

_DIGIT = re.compile(r"\d")
_WITH_DIGIT = re.compile(r"(?<!\w)[\w-]*\d[\w-]*")
_OPEN_QUESTION = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|wer|wen|wem|wessen|wann|wo|woher"
    r"|wohin|welche[mnrs]?|warum|wieso|wie|wieviel|qui|que|quoi|quel(?:le)?s?|quand|où|combien"
    r"|comment|pourquoi|quién(?:es)?|qué|cuál(?:es)?|cuándo|dónde|cuánt[oa]s?|cómo|chi|che|cosa"
    r"|quale?"
    r"|quali|dove|quando|perché|come|quant[oaie]|quem|qual|quais|onde|como|wie|wat|welke?|wanneer"
    r"|waar|waarom|hoe|hoeveel|list|name|tell|give|show|explain|describe|write"
    r"|vem|vilken|vilket|vilka|varför|hvem|hvornår|hvilken|hvordan|hvorfor"
    r"|kto|kogo|kiedy|gdzie|skąd|dlaczego|któr[yaeą]|czyj|кто|кого|кем|кому|где|куда|откуда|почему"
    r"|как(?:ой|ая|ое|ие|ую)|сколько|чей|назови|назовите|kimin|neden|niçin|nasıl|nere\w+|hangi|kaç"
    r"|ماذا|متى|أين|كيف|لماذا"
    # To a request for help, "Sure!" is merely consent.
    r"|(?:can|could|would|will) you (?:please )?(?:add|calculate|check|clarify|convert|correct"
    r"|create|do|draft|find|fix|format|generate|help|make|provide|put|recommend|repeat|rewrite|send"
    r"|share|solve|suggest|summari[sz]e|translate)"
    r"|(?:kannst du|können sie) (?:mir|uns|bitte)|(?:peux-tu|pouvez-vous) (?:me|nous))\b"
    # These have other meanings too, but not at the beginning of a question.
    r"|(?:\A|[:：\n])\W{0,4}(?:vad|när|var|hur|hvad|hva|hvor|co|jak|ile|kim|ne|что|когда|как|من|ما|كم"
    r"|أي)\b"
    r"|誰|何|いつ(?!も)|どこ|どの|どれ|どんな|なぜ|どう|いくつ|いくら|谁|什么|哪|何时|怎么|怎样"
    r"|多少|几(?!乎)|为什么"
    r"|如何|누구|누가|무엇|무슨|언제|어디|왜|어떻게|어떤|어느|몇|얼마|कौन|किस|कब|कहाँ|कहां|कैसे"
    r"|क्यों|कितन",
    re.IGNORECASE,
)
_CREATIVE = re.compile(
    r"""
    \b(?:write|compose|create|make\ up|invent|imagine|improvise|give|tell)\b [^.?!\n]{0,40}
      \b(?:poems?|haikus?|songs?|lyrics|limericks?|rhymes?|sonnets?|verses?|ballads?|jokes?|riddles?
      |fairy\ tales?|(?:short|bedtime|funny|scary|little|tiny|love|horror|ghost)\ stor(?:y|ies)
      |stor(?:y|ies)\ about|raps?|acrostics?|(?:motivational|inspirational)\ quotes?|slogans?
      |toasts?|epigrams?|tongue\ twisters?|mottos?|taglines?|puns?)\b
  | \b(?:suggest|propose|think\ of|come\ up\ with|brainstorm|invent|find|create|make\ up|need
      |want)\b [^.?!\n]{0,30} \b(?:nicknames?|slogans?|taglines?|mottos?|captions?|hashtags?
      |catchphrases?|usernames?|headlines?|puns?|jokes?|ideas)\b
  | \b(?:suggest|propose|think\ of|come\ up\ with|brainstorm|invent|find)\b [^.?!\n]{0,30}
      \b(?:names?|titles?|ideas?)\b
  | \b(?:give|list)\b [^.?!\n]{0,20} \bideas\b
  | \bgive\ (?:my|our)\b [^.?!\n]{0,30} \bname\b|\b(?:can|could|will)\ you\ name\ (?:my|our)\b
  | \bgive\ me\ an?\ (?:fun|funny|catchy|cool|cute|creative|good|nice)\b [^.?!\n]{0,20} \bname\b
  | \bwhat\ (?:should|could|shall)\ (?:i|we)\ (?:call|name)\b
  | \b(?:write|draft|compose)\b (?=[^?!\n]{0,300}\b(?:declin\w*|apologi\w*|thank\w*|congratulat\w*
      |invit\w*|resign\w*|condolences?|birthday|farewell|welcom\w*|remind\w*|cancel\w*|wish\w*
      |polite\w*)\b)
      (?![^?!\n]{0,300}\b(?:about|explain\w*|describ\w*|inform\w*|based|facts?|details?
      |summar\w*)\b)
      [^.?!\n]{0,40} \b(?:e-?mails?|letters?|notes?|messages?|invitations?|cards?|speech
      |apolog(?:y|ies))\b
  | \b(?:do|would)\ you\ (?:personally\ )?(?:like|prefer|enjoy|love|favou?r)\b
  | \byour\ (?:own\ |personal\ )?(?:favou?rite|opinion|view|taste)\b
  | \b(?:write|draft|compose|create)\b (?![^?!\n]{0,300}\b(?:about|explain\w*|describ\w*|summar\w*
      |facts?)\b) [^.?!\n]{0,40} \b(?:tweets?|captions?|ads?|adverts?|advertisements?|jingles?)\b
      (?=[^?!\n]{0,120}\b(?:our|my)\b)
  | \b(?:schreibe?n?|dichte|erfinde|reime)\b [^.?!\n]{0,40}
      \b(?:\w{0,20}(?:gedichte?|lied|liedtext|märchen|geschichten?)|haiku|zweizeiler|reim|limerick
      |witz
      |slogan|werbespruch|verse?)\b
  | \bschlage?\b [^.?!\n]{0,40} \b(?:namen?|titel)\b [^.?!\n]{0,20} \bvor\b
  | \b(?:magst|bevorzugst|findest)\ du\b|\b(?:mögen|bevorzugen)\ sie\b|\b(?:deine?|ihre?)\ lieblings
  | \bwas\ ist\ (?:deine|ihre)\ meinung\b
  | \b(?:écris|écrivez|compose|composez|invente|inventez)\b [^.?!\n]{0,40}
      \b(?:poèmes?|haïkus?|chansons?|blagues?|contes?|slogans?|vers|histoires?|comptines?)\b
  | \b(?:propose|proposez|suggère|suggérez|trouve|trouvez)\b [^.?!\n]{0,30} \b(?:noms?|titres?)\b
  | \b(?:préfères-tu|préférez-vous|aimes-tu|aimez-vous)\b
  | \b(?:ton|ta|votre)\ (?:\w+\ )?(?:préférée?|favorite?|avis|opinion)\b
  | \b(?:escribe|escriba|compón|inventa)\b [^.?!\n]{0,40}
      \b(?:poemas?|haikus?|canción|canciones|chistes?|cuentos?|es?lógan|eslogan|lema|versos?
      |rimas?|historia)\b
  | \b(?:sugiere|propón|sugiéreme|piensa)\b [^.?!\n]{0,30} \b(?:nombres?|títulos?)\b
  | \b(?:prefieres|te\ gusta)\b|\btu\ (?:\w+\ )?(?:favorit[oa]|preferid[oa]|opinión)\b
  | \b(?:scrivi|componi|inventa)\b [^.?!\n]{0,40}
      \b(?:poesi[ae]|haiku|canzon[ei]|barzellett[ae]|favol[ae]|fiab[ae]|slogan|versi|rim[ae]
      |filastrocc[ah]e?|storia)\b
  | \b(?:suggerisci(?:mi)?|proponi(?:mi)?)\b [^.?!\n]{0,30} \b(?:nom[ei]|titol[oi])\b
  | \b(?:preferisci|ti\ piace)\b|\b(?:tuo|tua)\ (?:\w+\ )?(?:preferit[oa]|opinione)\b
  | \b(?:escreva|componha|invente)\b [^.?!\n]{0,40}
      \b(?:poemas?|haicai|canção|canções|piadas?|contos?|slogan|versos?|rimas?|história)\b
  | \b(?:sugira|proponha)\b [^.?!\n]{0,30} \b(?:nomes?|títulos?)\b|\bvocê\ (?:prefere|gosta)\b
  | \b(?:tua?|seu|sua)\ (?:\w+\ )?(?:preferid[oa]|favorit[oa]|opinião)\b
  | \b(?:escreve|compõe|inventa|conte|conta)\b [^.?!\n]{0,40}
      \b(?:poemas?|haicai|canção|canções|piadas?|contos?|slogan|versos?|rimas?|história)\b
  | \b(?:schrijf|verzin)\b [^.?!\n]{0,40}
      \b(?:gedicht(?:en|je)?|haiku|lied(?:je)?|rijm(?:pje)?|mop|sprookje|slogan|versjes?
      |verhaaltje|verhaal)\b
  | \b(?:bedenk|suggereer)\b [^.?!\n]{0,30} \b(?:naam|namen|titels?)\b|\bvind\ (?:je|u)\b
  | \b(?:jouw|je|uw)\ (?:lievelings|favoriete)
  | \b(?:erzähle?n?|raconte[rz]?|cuéntame|cuenta|raccontami|racconta|vertel)\b [^.?!\n]{0,30}
      \b(?:witze?|märchen|gutenachtgeschichte|blagues?|conte|chistes?|cuento|barzelletta|favola
      |fiaba
      |filastrocca|mop|grap|sprookje|verhaaltje)\b
  | \bwie\ (?:soll|könnte|sollte)\ (?:ich|man)\ (?:meine?[nrm]?
      |unsere?[nrm]?)\b [^.?!\n]{0,30} \bnennen\b
  | \b(?:skriv|dikta|hitta\ på|berätta|fortæl|fortell)\b [^.?!\n]{0,40}
      \b(?:dikt\w*|haiku|vis[ae]|sång\w*|sag[ao]|skämt|vits\w*|limerick|slogan|rim|vers|vittighed)\b
  | \b(?:hitta\ på|föreslå|foreslå)\b [^.?!\n]{0,30} \b(?:namn|navn)\b
  | \b(?:din|ditt|dit)\ (?:favorit|yndlings|älsklings)
  | \b(?:napisz|ułóż|wymyśl|opowiedz)\b [^.?!\n]{0,40}
      \b(?:wiersz\w*|haiku|piosenk\w+|żart\w*|dowcip\w*|bajk\w+|opowiadani\w+|slogan\w*|hasło
      |limeryk\w*|rymowank\w+|toast)\b
  | \b(?:wymyśl|zaproponuj)\b [^.?!\n]{0,30} \b(?:nazw\w+|imi\w+|tytuł\w*|hasł\w+|slogan\w*)\b
  | \b(?:twój|twoja|twoje)\ ulubion
  | \b(?:напиши(?:те)?|сочини(?:те)?|придумай(?:те)?|расскажи(?:те)?)\b [^.?!\n]{0,40}
      \b(?:стих\w*|двустиши\w+|четверостиши\w+|хокку|хайку|песн\w+|сказк\w+|анекдот\w*|шутк\w+
      |слоган\w*|рассказ\w*|загадк\w+|тост\w*|частушк\w+)\b
  | \b(?:придумай(?:те)?|предложи(?:те)?)\b [^.?!\n]{0,30} \b(?:назван\w+|им(?:я|ена)|слоган\w*)\b
  | \b(?:твой|твоя|твоё|ваш|ваша|ваше)\ любим
  | \b(?:şiir|haiku|şarkı|masal|fıkra|hikaye|öykü|slogan|mani|tekerleme)\w*\b [^.?!\n]{0,30}
      \b(?:yaz|uydur|öner|anlat|söyle)\w*\b|\bisim\ (?:öner|bul|uydur)\w*\b|\ben\ sevdiğin\b
  | (?:اكتب|ألّف|ألف|احك)\w*\ [^.؟!\n]{0,30} (?:قصيدة|شعرا|قصة|نكتة|شعار|أغنية|بيت)
      |اقترح\ [^.؟!\n]{0,20}اسم
  | (?:कविता|कहानी|चुटकुला|नारा|गीत|शायरी|दोहा|हाइकु)\ [^.?!।\n]{0,30} (?:लिख|सुना|बना)|नाम\ सुझा
  | (?:俳句|短歌|川柳|詩|物語|童話|小説|歌詞|キャッチコピー|スローガン|ジョーク|なぞなぞ
      |ダジャレ)[^。？！の\n]{0,12}
      (?:書い(?!た)|作って|詠ん(?!だ)|考えて|言って|聞かせ|教えて)
  | (?:名前|ネーミング|ニックネーム|タイトル)(?:の案|の候補)?を[^。？！\n]{0,8}(?:考えて|つけて
      |付けて|提案)
  | (?:あなた|君)の(?:一番)?好きな|どちらが好きですか
  | (?:(?<!谁)写|创作|编|作|讲)(?![了过的])[^。？！\n]{0,10}(?:诗|俳句|对联|故事|笑话|歌词|口号|标语
      |广告语|谜语|绕口令)
  | (?:起|取|想)(?:一?个|几个)?[^。？！\n]{0,8}(?:名字|标语|口号|广告语|标题)|你(?:最)?喜欢
  | (?:시|동시|동화|이야기|농담|노래|가사|슬로건|하이쿠|삼행시)[를을]?
      \ (?:(?:하나|한\ 편|좀)\ )*(?:써|지어|만들어|해|들려)
  | 이름을?\ (?:하나\ |좀\ )*(?:추천|지어)|가장\ 좋아하는
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ASKS_WHERE_TO_TURN = re.compile(
    r"\b(?:contact|call|reach|report|complain|which (?:doctor|website|app|office|team|page)"
    r"|(?:whom?|where|what) (?:do|can|should|could|must|to)|kontakt\w*|melden|wende\w*|anrufen"
    r"|wen|wem"
    r"|contacter|appeler|signaler|qui (?:dois|puis|peut)|contactar|llamar"
    r"|quién (?:debo|puedo|puede)"
    r"|contattare|chiamare|chi (?:devo|posso|può)|contatar|ligar|quem (?:devo|posso|pode)|bellen"
    r"|wie (?:kan|moet)|site|website)\b",
    re.IGNORECASE,
)
_LINES = re.compile(
    r"\b(?:lines|stanzas?|couplets?|zeilen|strophen?|vers|versos|versi|regels)\b", re.I
)


# The longest beginning and end of a message that are searched for its question.
_MAX_QUESTION_CHARS = 1000
# Neither words nor a line break before a word, so that no pattern matches across it.
_CUT_MARK = "\n[.....] "


def asking_part(message: str) -> str:
    """Return the part of a user's message that may ask: all of it, or its beginning and its end.

    A long message consists of material, with the question above or below it. The patterns for
    questions take microseconds a character and hold the interpreter's lock, so they never see the
    material.

    Args:
        message: The message.

    Returns:
        A text of bounded length.
    """
    if len(message) <= 2 * _MAX_QUESTION_CHARS:
        return message
    # Without the words that were cut in two.
    beginning = message[:_MAX_QUESTION_CHARS].rsplit(None, 1)[:1]
    end = message[-_MAX_QUESTION_CHARS:].split(None, 1)[-1:]
    return _CUT_MARK.join([*beginning, *end])


def is_open_question(question: str) -> bool:
    """Return whether a question asks who, what or how, so that yes or no does not answer it."""
    return _OPEN_QUESTION.search(asking_part(question)) is not None


def invention_predicate(question: str) -> Callable[[str], bool] | None:
    """Return a predicate for text invented on request: a poem, a name, a favourite season.

    Args:
        question: The question.

    Returns:
        A function that returns whether a sentence of the answer is invented; None if the question
        asks for nothing of that kind.
    """
    question = asking_part(question)
    if _CREATIVE.search(question):
        return lambda text: True
    # "Two lines about Rome" may be prose. Verse has several short lines without digits.
    return _is_verse if _LINES.search(question) else None


def _is_verse(text: str) -> bool:
    lines = text.strip().splitlines()
    return len(lines) > 1 and all(len(line) <= 60 for line in lines) and not _DIGIT.search(text)


def asks_where_to_turn(question: str) -> bool:
    """Return whether a question asks whom to call or where to look."""
    return _ASKS_WHERE_TO_TURN.search(question) is not None


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asked.

    Attributes:
        text: The asking part of the message; empty if unknown.
        known: Its words, case-folded.
        is_open: Whether it asks who, what or how.
    """

    text: str
    known: frozenset[str]
    is_open: bool

    @staticmethod
    def of(message: str, *, is_open: bool) -> Question:
        """Read a user's message.

        Args:
            message: The message; empty if unknown.
            is_open: Whether it asks who, what or how.
        """
        text = asking_part(message)
        return Question(text, words_in(text), is_open)

    def without_numbers(self, text: str) -> str:
        """Return a text with "it" for words with digits from the question, such as "X100"."""
        if not _DIGIT.search(text):
            return text
        known = frozenset(_WITH_DIGIT.findall(self.text))
        return _WITH_DIGIT.sub(lambda word: "it" if word[0] in known else word[0], text)
