"""How people ask models: the words and phrases that say what to do, and not about what."""

from __future__ import annotations

import re

__all__ = ["COMPARING", "LABEL", "LEAD_INS", "ORDERS", "STOP_WORDS", "TAIL"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Small letters, in seven languages. Closed-class words, and verbs and nouns of asking.
STOP_WORDS = _words("""
    a about after all also am an and any are as at be because been before being but by can could did
    do does doing during each for from had has have having he her hers him his how i if in into is
    it its just me more most much my no not of on one or our out over own please she should so some
    such than that the their them then there these they this those to too under until up very was we
    were what when where which while who whom whose why will with would you your
    ask answer compare create define describe describes discuss draft explain generate give help hi
    hello know list let make mention name outline provide say show summarise summarize talk teach
    tell think wonder write
    anything article biography brief briefly detail details essay explanation fact facts information
    overview paragraph passage question short summary sentence something thing things
    der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird
    wurde wurden hat haben hatte kann können ich du er sie es wir ihr mir mich dir uns mit von vom
    zu zum zur in im an am auf aus bei bis für nach über unter um wie was wer wen wem wann wo woher
    wohin warum wieso weshalb welche welcher welches welchen nicht bitte nenne beschreibe erkläre
    schreibe schreib erzähle gib mal
    le la les l un une des du de d et ou mais est sont était étaient sera a ont avait je tu il elle
    on nous vous ils elles me moi te se en y dans par pour sur sous avec sans ce cet cette ces qui
    que quoi quel quelle quels quelles quand où comment pourquoi combien est-ce ne pas s'il plaît
    décris décrivez explique expliquez écris écrivez donne donnez parle parlez
    el los las lo una unos unas y o pero es son era eran fue fueron ha han había yo tú él ella
    nosotros ellos mi te nos al del por para con sin sobre como cómo qué quién quiénes cuál cuáles
    cuándo dónde cuánto cuántos cuántas no por favor describe explica escribe dime dame háblame
    il lo i gli uno di da dal dalla del della dei delle nel nella sul sulla per tra fra e o ma sono
    era erano fu ha hanno io lei lui noi mi ti che chi cosa quale quali quando dove come perché
    quanto quanti non scrivi spiega descrivi dimmi parlami
    o os as um uma do da dos das no na nos nas ao à em com sem e ou mas é são foi foram era tem eu
    ele ela eles elas que quem qual quais onde quanto não escreva explique descreva fale diga
    het een van en of maar is zijn was waren wordt werd heeft hebben ik jij je hij zij ze wij we
    mij met op aan bij uit voor naar over onder hoe wat wie waar wanneer waarom welke welk niet
    schrijf vertel beschrijf geef
""")

_POLITE = (
    r"(?:please|kindly|hi|hello|hey|now|(?:can|could|would|will)\s+you(?:\s+please)?|i(?:\s+would"
    r"|'d|’d)?\s+(?:want|like|need)(?:\s+you)?\s+to|i'?m\s+curious|let'?s|bitte|(?:kannst|könntest)"
    r"\s+du|(?:können|könnten)\s+sie|s'il\s+(?:te|vous)\s+plaît|(?:peux|pourrais)-tu|(?:pouvez"
    r"|pourriez)-vous|por\s+favor|¿?\s*(?:puedes|podrías|puede|podría)|per\s+favore|puoi|potresti"
    r"|você\s+pode|pode|kun\s+je|пожалуйста)"
)
_VERB = (
    r"(?:write|tell|give|provide|create|compose|draft|generate|produce|prepare|make|talk|speak"
    r"|explain|describe|discuss|summari[sz]e|list|name|outline|teach|show|share|know|learn|hear"
    r"|schreiben?|schreib|verfassen?|erzählen?|erzähl|gib|geben|erstellen?|erstelle|erkläre?n?"
    r"|beschreiben?|nennen?|berichte|écri(?:s|vez|re)|rédige[rz]?|parle[rz]?|donne[rz]?|raconte[rz]?"
    r"|explique[rz]?|décri(?:s|vez|re)|escrib[ae]|escribir|redact[ae]|háblame|dame|cuéntame|explicar?"
    r"|describ[ae]|scrivi|scrivere|parlami|dammi|raccontami|spiega(?:mi)?|descrivi|escreva|fale"
    r"|conte|explique|descreva|schrijf|vertel|geef|beschrijf|напиши(?:те)?|расскажи(?:те)?"
    r"|объясни(?:те)?|опиши(?:те)?)"
)
_TEXT = (
    r"(?:summary|biography|bio|description|overview|introduction|explanation|definition|account"
    r"|profile|outline|essay|article|paragraph|passage|text|report|history|timeline|portrait"
    r"|zusammenfassung|biogra(?:f|ph)ie|beschreibung|überblick|résumé|description|présentation"
    r"|resumen|biografía|descripción|riassunto|descrizione|resumo|biografia|descrição|samenvatting)"
)
_ABOUT = (
    r"(?:about|regarding|concerning|on|über|zum?|zur|sur|à\s+propos\s+d(?:e\s|u\s|es\s|')|sobre"
    r"|acerca\s+de|su|sull[ao]|over|об?о?|про"
    rf"|{_TEXT}\s+(?:of|for|to|von|vom|de|du|des|di|da|do|del|della|van)\b)"
)
# What stands between may not end a sentence.
_UP_TO = r"[^.?!:;\n。？！]{0,100}?"

LEAD_INS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"[¿¡\W]*(?:{_POLITE}[\s,]+){{0,3}}{_VERB}\b{_UP_TO}(?<!\w){_ABOUT}\s+(?P<object>\S.*)",
        r"\W*(?:this|that|here|below|(?:the\s+)?following|what\s+follows|dies|das|hier|voici|ceci"
        r"|c|est[ao]|quest[ao]|dit)\b[\s'’]{1,2}(?:is|are|'s|ist|folgt|est|es|é|è)"
        rf"\s{_UP_TO}(?<!\w){_ABOUT}\s+(?P<object>\S.*)",
        r"\W*(?:what\s+(?:do|can|could)\s+you\s+(?:know|tell\s+me|say)|do\s+you\s+know\s+(?:anything"
        r"|something)|was\s+weißt\s+du|que\s+sais-tu|qué\s+sabes)"
        rf"\s+{_ABOUT}\s+(?P<object>\S.*)",
        r".{0,40}?(?:关于|關於|有关|有關)(?P<object>.{2,60}?)(?:的|，|。|$).*",
        r"(?P<object>.{2,60}?)(?:について|に関して|に\s?대(?:해|하여|한)|에\s?대(?:해|하여|한)).*",
        r"(?:请|請)?(?:简单|簡單)?(?:介绍|介紹)(?:一下)?(?P<object>.{2,60})",
    )
)
"""Sentences that say what to write about; the group `object` is that."""

ORDERS = re.compile(
    rf"""
    \W*(?:{_POLITE}[\s,]+){{0,2}}
    (?: answer|respond|reply|use|keep|be|do\s+not|don['’]t|never|always|avoid|include|cite|return
      | output|format|think|make\s+sure|limit|ensure|note|remember|act\s+as|you\s+are|your\s+task
      | only|no\s+more\s+than|at\s+most|in\s+(?:one|two|\d+)\s+(?:words?|sentences?|paragraphs?)
      | antworte|verwende|benutze|halte|sei|vermeide|du\s+bist|réponds|répondez|utilise[zr]?|sois
      | soyez|tu\s+es|vous\s+êtes|responde|usa|utiliza|eres|rispondi|usa|sei|sii|responda|use
      | antwoord|gebruik
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What a sentence that only says how to answer begins with."""

LABEL = re.compile(
    r"(?<!\W)\W*(?:question|q|query|user|human|prompt|task|instruction|frage|pregunta|domanda|问题|問題|質問)"
    r"\s*[:：]\s*",
    re.IGNORECASE,
)

_COUNT = (
    r"(?:\d+|one|two|three|four|five|a\s+few|a\s+single|ein(?:em|en)?|zwei|drei|une?|deux|dos|tres)"
)
TAIL = re.compile(
    rf"""
    (?<![\s,(])[\s,(]+ (?:
        (?:in|using|with|within|under|of|auf|en|dans)\s+(?:(?:at\s+most|about|around|exactly|under
            |only|the|up\s+to|no\s+more\s+than|less\s+than|fewer\s+than)\s+){{0,2}}{_COUNT}[\s-]+
        (?:\w+\s+){{0,2}}?(?:words?|sentences?|paragraphs?|lines?|bullets?|points?|pages?|steps?
            |characters?|tokens?|wörtern?|sätzen?|worten|mots|phrases?|palabras|frases)\b.*
      | (?:in\s+(?:great\s+)?detail|in\s+(?:short|brief|simple|plain)\b.*|briefly|please|bitte
            |step\s+by\s+step|por\s+favor|per\s+favore|s'il\s+(?:te|vous)\s+plaît)
    ) \W*\Z
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""How long or how detailed an answer is to be, at the end of a sentence."""

COMPARING = re.compile(
    r"\b(?:compare[sd]?|comparison|versus|vs|differences?|differ|unterschiede?|vergleiche?"
    r"|différences?|compare[zr]?|diferencias?|compara|differenz[ae]|confronta|verschil(?:len)?)\b"
    r"|区别|區別|比较|比較|違い|차이",
    re.IGNORECASE,
)
"""Questions about several things, each of which an answer speaks of alone."""
