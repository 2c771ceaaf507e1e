"""Words of numbers, units, dates and negation, by language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from resay.lang.detection import detect_from_words
from resay.lang.tables import word_set


def _numbered(words: str, start: int = 0, step: int = 1) -> dict[str, int]:
    """Number words in order; `a/b` are two spellings of one."""
    groups = enumerate(words.split())
    return {w: (start + n) * step for n, group in groups for w in group.split("/")}


# The numbers below a hundred that are single words: units and teens from 0, tens from 20.
BASIC: Final[Mapping[str, tuple[str, str]]] = {
    "pt": (
        "zero um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze treze"
        " quatorze/catorze quinze dezesseis/dezasseis dezessete/dezassete dezoito"
        " dezenove/dezanove",
        "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    ),
    "it": (
        "zero uno/una/un due tre quattro cinque sei sette otto nove dieci undici dodici tredici"
        " quattordici quindici sedici diciassette diciotto diciannove",
        "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    ),
    "es": (
        "cero uno/una/un dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce"
        " quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna"
        " veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho"
        " veintinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    ),
    "fr": (
        "zéro un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze"
        " quinze seize",
        "vingt/vingts trente quarante cinquante soixante septante huitante/octante nonante",
    ),
    "nl": (
        "nul een/één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien"
        " vijftien zestien zeventien achttien negentien",
        "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    ),
    "de": (
        "null ein/eins/eine/einer/einem/einen zwei/zwo drei vier fünf sechs sieben acht neun zehn"
        " elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreißig/dreissig vierzig fünfzig sechzig siebzig achtzig neunzig",
    ),
    "en": (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
    ),
}


def _below_hundred() -> dict[str, int]:
    found: dict[str, int] = {}
    for language, (first, then) in BASIC.items():
        units, tens = _numbered(first), _numbered(then, 2, 10)
        found |= units | tens
        joined = {"de": "{u}und{t}", "nl": "{u}en{t}", "it": "{t}{u}"}.get(language)
        ones = {u: n for u, n in units.items() if 0 < n < 10}
        for t, ten in tens.items() if joined else ():
            for u, n in ones.items():
                # Italian drops a vowel before another, and Dutch writes a diaeresis after one.
                stem = t[:-1] if language == "it" and u[0] in "uo" else t
                found[str(joined).format(u=u, t=stem)] = ten + n
                found[f"{u}ën{t}"] = ten + n
                if language == "it" and u == "tre":
                    found[f"{t}tré"] = ten + n
    return found


SMALL: Final = {
    **_below_hundred(),
    "twice": 2,
    "zweimal": 2,
    "tweemaal": 2,
    "thrice": 3,
    "dreimal": 3,
    "driemaal": 3,
}
LANGUAGES_OF: Final[Mapping[str, frozenset[str]]] = {
    word: frozenset(
        language
        for language, lists in BASIC.items()
        if any(word in group.split("/") for words in lists for group in words.split())
    )
    for lists in BASIC.values()
    for words in lists
    for group in words.split()
    for word in group.split("/")
}
"""The languages in which a number below a hundred is this word."""
HUNDREDS: Final = {
    **_numbered(
        "hundred/hundert/cent/cents/cien/ciento/cento/cem/honderd"
        " doscientos/doscientas/duecento/duzentos/duzentas"
        " trescientos/trescientas/trecento/trezentos/trezentas"
        " cuatrocientos/cuatrocientas/quattrocento/quatrocentos/quatrocentas"
        " quinientos/quinientas/cinquecento/quinhentos/quinhentas"
        " seiscientos/seiscientas/seicento/seiscentos/seiscentas"
        " setecientos/setecientas/settecento/setecentos/setecentas"
        " ochocientos/ochocientas/ottocento/oitocentos/oitocentas"
        " novecientos/novecientas/novecento/novecentos/novecentas",
        1,
        100,
    )
}
SCALES: Final[Mapping[str, float]] = {
    word: value
    for words, value in (
        ("thousand thousands tausend mille mil mila milles duizend k", 1e3),
        ("lakh", 1e5),
        (
            "million millions mio millionen millón millon millones milione milioni milhão milhões"
            " miljoen mln",
            1e6,
        ),
        ("crore", 1e7),
        (
            "billion billions bn milliarde milliarden mrd milliard milliards miliardo miliardi"
            " bilhão bilhões miljard mld",
            1e9,
        ),
        ("trillion trillions trilhão trilhões", 1e12),
    )
    for word in words.split()
}
SHORT_SCALES: Final = {"m": 1e6, "b": 1e9, "bn": 1e9, "k": 1e3}
PARTS: Final[Mapping[str, float]] = {
    "half": 1 / 2,
    "hälfte": 1 / 2,
    "halb": 1 / 2,
    "halbe": 1 / 2,
    "halben": 1 / 2,
    "moitié": 1 / 2,
    "mitad": 1 / 2,
    "metà": 1 / 2,
    "metade": 1 / 2,
    "helft": 1 / 2,
    "quarter": 1 / 4,
    "viertel": 1 / 4,
    "quart": 1 / 4,
    "tercio": 1 / 3,
    "drittel": 1 / 3,
    "tiers": 1 / 3,
    "terzo": 1 / 3,
    "thirds": 1 / 3,
    "quarters": 1 / 4,
    "fifths": 1 / 5,
    "anderthalb": 3 / 2,
    "eineinhalb": 3 / 2,
    "anderhalf": 3 / 2,
    "zweieinhalb": 5 / 2,
    "dreieinhalb": 7 / 2,
}
# Of fractions written with a slash.
DENOMINATORS: Final = frozenset((2, 3, 4, 5, 6, 8, 16, 32, 64))
HALVES: Final = word_set("half halb halbe demi demie medio media mezzo mezza meio meia")
DOZENS: Final = {
    "dozen": 12,
    "dutzend": 12,
    "douzaine": 12,
    "docena": 12,
    "dozzina": 12,
    "dozijn": 12,
}
ORDINALS: Final = {
    **_numbered(
        "second/zweite/zweiter/zweiten/zweites/deuxième/seconde/segundo/segunda/secondo/seconda"
        "/tweede"
        " third/dritte/dritter/dritten/drittes/troisième/tercero/tercera/tercer/terzo/terza"
        "/terceiro/terceira/derde"
        " fourth/vierte/vierter/vierten/viertes/quatrième/cuarto/cuarta/quarto/quarta/vierde"
        " fifth/fünfte/fünfter/fünften/fünftes/cinquième/quinto/quinta/vijfde"
        " sixth/sechste/sechster/sechsten/sechstes/sixième/sexto/sexta/sesto/sesta/zesde"
        " seventh/siebte/siebter/siebten/siebtes/septième/séptimo/séptima/settimo/settima/sétimo"
        "/sétima/zevende"
        " eighth/achte/achter/achten/achtes/huitième/octavo/octava/ottavo/ottava/oitavo/oitava"
        "/achtste"
        " ninth/neunte/neunter/neunten/neuntes/neuvième/noveno/novena/nono/nona/negende"
        " tenth/zehnte/zehnter/zehnten/zehntes/dixième/décimo/décima/decimo/decima/tiende"
        " eleventh/elfte/elfter/elften/onzième/undécimo/undicesimo/elfde"
        " twelfth/zwölfte/zwölfter/zwölften/douzième/duodécimo/dodicesimo/twaalfde"
        " thirteenth/dreizehnte/dreizehnten/treizième/tredicesimo/dertiende"
        " fourteenth/vierzehnte/vierzehnten/quatorzième/quattordicesimo/veertiende"
        " fifteenth/fünfzehnte/fünfzehnten/quinzième/quindicesimo/vijftiende"
        " sixteenth/sechzehnte/sechzehnten/seizième/sedicesimo/zestiende"
        " seventeenth/siebzehnte/siebzehnten/dix-septième/diciassettesimo/zeventiende"
        " eighteenth/achtzehnte/achtzehnten/dix-huitième/diciottesimo/achttiende"
        " nineteenth/neunzehnte/neunzehnten/dix-neuvième/diciannovesimo/negentiende"
        " twentieth/zwanzigste/zwanzigsten/vingtième/vigésimo/ventesimo/twintigste",
        2,
    ),
    **_numbered(
        "thirtieth/dreißigste fortieth/vierzigste fiftieth/fünfzigste sixtieth/sechzigste"
        " seventieth/siebzigste eightieth/achtzigste ninetieth/neunzigste hundredth/hundertste",
        3,
        10,
    ),
}
# Also articles: numbers only if another number word or a unit follows.
ARTICLES: Final = word_set("one a an ein eins eine einer einem einen un une uno una um uma een één")
# Numbers in one language, but ordinary words in another.
ONLY_IN: Final[Mapping[str, frozenset[str | None]]] = {
    word: frozenset(languages.split())
    for word, languages in {
        "dos": "es",
        "due": "it",
        "once": "es",
        "elf": "de nl",
        "cent": "fr",
        "cents": "fr",
        "nul": "nl",
        "null": "de",
        "sei": "it",
        "acht": "de nl",
        "neuf": "fr",
        "tres": "es",
        "mille": "fr it",
        "mil": "es pt",
        "nona": "it pt",
        "prima": "it",
        "halb": "de",
        "quart": "fr",
        "seconde": "",
        "secondo": "",
        "segundo": "es pt",
        "achte": "de",
        "achter": "de",
        "octavo": "es",
        "nove": "it pt",
        "cento": "it pt",
        "onze": "fr pt nl",
    }.items()
}
JOINS: Final = frozenset(("and", "und", "et", "y", "e", "en"))
ORDINAL_ENDINGS: Final = word_set("st nd rd th er re ère e ème eme º ª o a de ste te nde ter")

MONTHS: Final = {
    **_numbered(
        "january/januar/jänner/janvier/enero/gennaio/janeiro/januari/jan"
        " february/februar/feber/février/febrero/febbraio/fevereiro/februari/feb/févr"
        " march/märz/mars/marzo/março/maart/mar"
        " april/avril/abril/aprile/apr"
        " may/mai/mayo/maggio/maio/mei"
        " june/juni/juin/junio/giugno/junho/jun"
        " july/juli/juillet/julio/luglio/julho/jul"
        " august/août/agosto/augustus/aug"
        " september/septembre/septiembre/settembre/setembro/sep/sept"
        " october/oktober/octobre/octubre/ottobre/outubro/oct/okt"
        " november/novembre/noviembre/novembro/nov"
        " december/dezember/décembre/diciembre/dicembre/dezembro/dec/dez",
        1,
    )
}
DECADES: Final = {
    "twenties": 1920,
    "thirties": 1930,
    "forties": 1940,
    "fifties": 1950,
    "sixties": 1960,
    "seventies": 1970,
    "eighties": 1980,
    "nineties": 1990,
}
# "In his eighties" is an age.
POSSESSIVES: Final = word_set("his her their my your our its mid early late")
CENTURIES: Final = word_set(
    "century centuries jahrhundert jahrhunderts jahrhunderte siècle siècles siglo siglos secolo"
    " secoli século séculos eeuw eeuwen"
)
NUMBERED_BY_ROMAN: Final = word_set(
    "chapter kapitel chapitre capítulo capitolo hoofdstuk volume band tome tomo part teil partie"
    " parte deel act book buch livre libro section world war weltkrieg"
)

UNITS: Final[Mapping[str, tuple[str, float]]] = {
    word: (unit, scale)
    for unit, scale, words in (
        ("m", 1e-9, "nm nanometer nanometers nanometre nanometres"),
        ("m", 1e-6, "µm μm micrometer micrometers micrometre micrometres micron microns"),
        (
            "m",
            1e-3,
            "mm millimeter millimeters millimetre millimetres millimètres millimètre"
            " milímetros milímetro millimetri millimetro",
        ),
        (
            "m",
            1e-2,
            "cm centimeter centimeters centimetre centimetres zentimeter zentimetern"
            " centimètre centimètres centímetro centímetros centimetro centimetri",
        ),
        ("m", 1.0, "m meter meters metre metres metern mètre mètres metro metros metri"),
        (
            "m",
            1e3,
            "km kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres"
            " kilómetro kilómetros kilometro kilometri quilômetro quilômetros"
            " quilómetro quilómetros",
        ),
        ("m", 0.0254, "inch inches zoll pouce pouces pulgada pulgadas pollici polegadas"),
        ("m", 0.3048, "ft foot feet fuß pied pieds pie pies piedi pés voet"),
        ("m", 0.9144, "yd yard yards"),
        (
            "m",
            1609.344,
            "mi mile miles meile meilen mille milles milla millas miglio miglia milha milhas mijl",
        ),
        ("m/s", 1 / 3.6, "kph kmh"),
        ("m/s", 0.44704, "mph"),
        ("m/s", 1852 / 3600, "kn knot knots"),
        ("m2", 1.0, "m² sqm quadratmeter quadratmetern"),
        ("m2", 1e6, "km² quadratkilometer quadratkilometern"),
        ("m2", 1e4, "ha hectare hectares hektar hectárea hectáreas ettari ettaro"),
        ("m2", 4046.8564224, "acre acres"),
        ("m3", 1.0, "m³ kubikmeter"),
        ("m3", 1e-3, "l liter liters litre litres litern litro litros litri"),
        ("m3", 2.365882365e-4, "cup cups"),
        ("m3", 1.478676478125e-5, "tbsp tablespoon tablespoons"),
        ("m3", 4.92892159375e-6, "tsp teaspoon teaspoons"),
        ("m3", 1e-5, "cl"),
        ("m3", 1e-9, "µl μl microliter microliters microlitre microlitres"),
        ("m3", 1e-6, "ml milliliter milliliters millilitre millilitres"),
        ("kg", 1e-9, "µg μg mcg microgram micrograms mikrogramm microgrammes"),
        ("kg", 1e-6, "mg milligram milligrams milligramm milligrammes"),
        ("kg", 1e-3, "g gram grams gramm gramme grammes gramo gramos grammo grammi gramas"),
        (
            "kg",
            1.0,
            "kg kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo"
            " kilogramos kilogrammo kilogrammi quilo quilos quilograma quilogramas chilo chili",
        ),
        ("kg", 1e3, "t ton tonne tonnes tonnen tonelada toneladas tonnellata tonnellate"),
        ("kg", 0.45359237, "lb lbs pound pounds pfund libbre"),
        ("kg", 0.028349523125, "oz ounce ounces unze unzen"),
        ("s", 1e-9, "ns nanosecond nanoseconds"),
        ("s", 1e-6, "µs μs microsecond microseconds"),
        ("s", 1e-3, "ms millisecond milliseconds millisekunden"),
        ("s", 1.0, "s sec secs seconds sekunde sekunden secondes segundos secondi seconden"),
        ("s", 60.0, "min mins minute minutes minuten minuto minutos minuti minuut"),
        (
            "s",
            3600.0,
            "h hr hrs hour hours stunde stunden heure heures hora horas ora ore uur uren",
        ),
        (
            "s",
            86400.0,
            "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen",
        ),
        (
            "s",
            604800.0,
            "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
        ),
        ("s", 1209600.0, "fortnight fortnights"),
        (
            "year",
            1 / 12,
            "month months monat monate monaten mois mes meses mese mesi mês maand maanden",
        ),
        (
            "year",
            1.0,
            "year years jahr jahre jahren an ans année années año años anno anni ano"
            " anos jaar jaren",
        ),
        ("year", 10.0, "decade decades jahrzehnt jahrzehnte décennie décennies década décadas"),
        ("B", 1.0, "byte bytes"),
        ("B", 1e3, "kb kilobyte kilobytes"),
        ("B", 1e6, "mb megabyte megabytes"),
        ("B", 1e9, "gb gigabyte gigabytes"),
        ("B", 1e12, "tb terabyte terabytes"),
        ("W", 1.0, "w watt watts"),
        ("W", 1e3, "kw kilowatt kilowatts"),
        ("W", 1e6, "mw megawatt megawatts"),
        ("W", 1e9, "gw gigawatt gigawatts"),
        ("W", 1e12, "tw terawatt terawatts"),
        ("W", 735.49875, "ps hp horsepower"),
        ("J", 3.6e3, "wh"),
        ("J", 3.6e6, "kwh"),
        ("J", 3.6e9, "mwh"),
        ("J", 3.6e12, "gwh"),
        ("J", 3.6e15, "twh"),
        ("J", 1e3, "kj kilojoule"),
        ("J", 4184.0, "kcal kilocalories"),
        ("V", 1.0, "volt volts"),
        ("Ah", 1.0, "ah"),
        ("Ah", 1e-3, "mah"),
        ("dB", 1.0, "db decibel decibels dezibel décibel décibels decibelio decibelios decibéis"),
        ("lm", 1.0, "lm lumen lumens lúmenes"),
        ("Hz", 1.0, "hz hertz"),
        ("Hz", 1e3, "khz"),
        ("Hz", 1e6, "mhz"),
        ("Hz", 1e9, "ghz"),
        ("share", 0.01, "% percent prozent procent percento pct"),
        ("share", 0.001, "‰ permille promille"),
        ("EUR", 1.0, "€ eur euro euros"),
        ("$", 1.0, "$ dollar dollars dólar dólares dollari"),
        ("USD", 1.0, "usd"),
        ("CAD", 1.0, "cad"),
        ("AUD", 1.0, "aud"),
        ("NZD", 1.0, "nzd"),
        ("HKD", 1.0, "hkd"),
        ("SGD", 1.0, "sgd"),
        ("cent", 0.01, "¢ cents"),
        ("GBP", 1.0, "£ gbp quid"),
        ("GBP", 0.01, "p pence"),
        ("JPY", 1.0, "¥ jpy yen"),
        ("CNY", 1.0, "cny yuan renminbi rmb"),
        ("KRW", 1.0, "₩ krw"),
        ("CHF", 1.0, "chf franken"),
        ("NOK", 1.0, "nok"),
        ("DKK", 1.0, "dkk"),
        ("PLN", 1.0, "pln zloty złoty złotych zlotys"),
        ("RUB", 1.0, "rub ₽ rouble roubles ruble rubles"),
        ("INR", 1.0, "₹ inr rs rupee rupees"),
    )
    for word in words.split()
}
# Units after digits, unless they close a quotation.
MARKS: Final[Mapping[str, tuple[str, float]]] = {"'": ("m", 0.3048), '"': ("m", 0.0254)}
CURRENCIES: Final = word_set(
    "€ $ £ ¥ ₹ ₩ ₽ eur usd cad aud nzd hkd sgd gbp jpy cny krw chf nok dkk pln rub inr rs"
)
# What precedes a dollar sign, or the name of a currency that several countries have.
DOLLARS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("us", "american"), "USD"),
    **dict.fromkeys(("c", "ca", "can", "canadian"), "CAD"),
    **dict.fromkeys(("a", "au", "australian"), "AUD"),
    **dict.fromkeys(("nz", "zealand"), "NZD"),
    **dict.fromkeys(("hk", "kong"), "HKD"),
    **dict.fromkeys(("s", "sg", "singapore"), "SGD"),
}
NATIONAL: Final[Mapping[tuple[str, str], str]] = {
    **{(word, "dollar"): unit for word, unit in DOLLARS.items() if len(word) > 3 or word == "us"},
    ("swiss", "franc"): "CHF",
    ("norwegian", "krone"): "NOK",
    ("danish", "krone"): "DKK",
    ("indian", "rupee"): "INR",
    ("british", "pound"): "GBP",
}
# "New Zealand dollars".
NATIONS: Final = frozenset(nation for nation, _ in NATIONAL)
PLURALS: Final = {"kroner": "krone"}
# "Shortly after midnight" is no time, and "a midnight sun" neither.
BEFORE_TIMES: Final = word_set("at is was until till from to by and or - :") | {""}
TIMES_OF_DAY: Final = {"midnight": 0, "noon": 720, "midday": 720}
# Single letters are units only after digits, not after number words.
LETTERS: Final = frozenset(word for word in UNITS if len(word) == 1 and word.isalpha())
AREAS: Final = word_set("square sq quadrat carrés carré cuadrados quadrati quadrados vierkante")
CUBES: Final = word_set("cubic kubik cubes cube cúbicos cubi kubieke")
PER_CENT: Final = word_set("per pro pour por")
CENTS: Final = word_set("cent cento ciento zent")
PER: Final = word_set("/ per pro par por al an a")
DEGREES: Final = word_set("° degrees degree grad degrés degré grados gradi graus graden")
CELSIUS: Final = word_set("c celsius centigrade")
FAHRENHEIT: Final = word_set("f fahrenheit")

ABOUT: Final = word_set(
    "about around roughly approximately approx nearly almost some circa ca c over under some"
    " ungefähr etwa rund zirka knapp gut fast beinahe nahezu"
    " environ presque quelque quelques vers près"
    " aproximadamente casi alrededor unos unas cerca"
    " quasi pressappoco"
    " quase"
    " ongeveer bijna zowat rond ~ ≈ than als que di"
)
ABOUT_AFTER_MORE: Final = word_set("than als que di dan")
MORE: Final = word_set(
    "more less fewer mehr weniger plus moins más menos più meno mais meer minder"
)
# Words allowed between "about" and its number.
SKIPPED: Final = word_set("de d di a the of an à")
BETWEEN: Final = word_set("between zwischen entre tra fra tussen")
RANGE_SIGNS: Final = word_set("- to bis à tot")

# Scripts without spaces, whose characters are not words.
UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
CJK_DIGITS: Final = {
    **{c: n for n, c in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
}
CJK_TENS: Final = {"十": 10, "百": 100, "千": 1000}
CJK_SCALES: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "만": 10**4, "억": 10**8}
CJK = "〇一二三四五六七八九零两兩十百千万萬亿億"
CJK_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "公里": ("m", 1e3),
    "千米": ("m", 1e3),
    "厘米": ("m", 1e-2),
    "毫米": ("m", 1e-3),
    "米": ("m", 1.0),
    "公斤": ("kg", 1.0),
    "千克": ("kg", 1.0),
    "克": ("kg", 1e-3),
    "吨": ("kg", 1e3),
    "小时": ("s", 3600.0),
    "時間": ("s", 3600.0),
    "分钟": ("s", 60.0),
    "秒": ("s", 1.0),
    "キロ": ("m", 1e3),
    "メートル": ("m", 1.0),
    "킬로미터": ("m", 1e3),
    "미터": ("m", 1.0),
    "欧元": ("EUR", 1.0),
    "美元": ("USD", 1.0),
    "ドル": ("USD", 1.0),
    "円": ("JPY", 1.0),
}
# Before one of these a single numeral is a number; otherwise it is part of a word.
COUNTERS: Final = frozenset("年月日号個个名人位座层層条條根颗顆次岁歳本匹頭头台辆家间間章世")

DATE_MARKS = re.compile("[-./]")
ROMAN_NUMBERS: Final = {
    tens + units: 10 * t + u
    for t, tens in enumerate(("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc"))
    for u, units in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if tens + units
}
# With the endings of French and Dutch ordinals.
ROMANS: Final = {
    numeral + ending: (numeral, ending)
    for ending in ("", "e", "er", "ème", "ste", "de")
    for numeral in ROMAN_NUMBERS
}


def cjk_value(text: str) -> tuple[float, float] | None:
    """Return the value of Chinese numerals and the place value of the last, or None."""
    if len(text) > 24:
        return None
    if all(c in CJK_DIGITS for c in text):
        return (float("".join(str(CJK_DIGITS[c]) for c in text)), 1.0)
    total = section = digit = 0.0
    step = 1.0
    for c in text:
        if c in CJK_DIGITS:
            digit, step = float(CJK_DIGITS[c]), 1.0
        elif c in CJK_TENS:
            section, digit, step = section + (digit or 1) * CJK_TENS[c], 0.0, float(CJK_TENS[c])
        else:
            total, section, digit = (total + section + digit or 1) * CJK_SCALES[c], 0.0, 0.0
            step = float(CJK_SCALES[c])
    return total + section + digit, step


COMPOUND = re.compile(
    r"(?:(?P<t>\w{0,30}?)(?:tausend|duizend|mila|mille))?"
    r"(?:(?P<h>\w{0,12}?)(?:hundert|honderd|cento))?(?:und|en|e)?(?P<r>\w{0,20})"
)


@lru_cache(4096)
def compound_value(word: str) -> int | None:
    """Return the value of a number written as one word: `fünftausend`, `tweehonderdvijftig`."""
    if len(word) > 50 or not any(part in word for part in COMPOUND_PARTS):
        return None
    match = COMPOUND.fullmatch(word)
    if match is None:
        return None
    value = 0
    for name, factor in (("t", 1000), ("h", 100), ("r", 1)):
        part = match.group(name)
        if part is None:
            continue
        count = 1 if not part and factor > 1 else SMALL.get(part, 0 if not part else -1)
        if count < 0 and name == "t":
            inner = compound_value(part)
            count = -1 if inner is None else inner
        if count < 0:
            return None
        value += count * factor
    return value or None


COMPOUND_PARTS: Final = ("tausend", "duizend", "mila", "mille", "hundert", "honderd", "cento")
STARTS: Final = (
    frozenset(SMALL)
    | frozenset(HUNDREDS)
    | (frozenset(SCALES) - {"k"})
    | frozenset(PARTS)
    | frozenset(DOZENS)
    | frozenset(ORDINALS)
    | frozenset(DECADES)
    | frozenset(MONTHS)
    | CURRENCIES
    | frozenset(DOLLARS)
    | frozenset(TIMES_OF_DAY)
) - {"a", "c", "s", "can"}

FIRST_CHARS: Final = frozenset("0123456789" + CJK)
STARTS_AND_ROMANS: Final = STARTS | frozenset(ROMANS)


# Tokens that change the meaning of an adjacent number; a plain year has none of them.
AFTER_NUMBERS: Final = frozenset[str]().union(
    *(UNITS, MONTHS, SCALES, CJK_SCALES, CENTURIES, JOINS, DEGREES, AREAS, CUBES, PER_CENT),
    *(ORDINAL_ENDINGS, HALVES, PARTS, CURRENCIES, MARKS, ("-", "/", "uhr", "of", "am", "pm")),
    ("a", "p", "di", "d", "der", "k", "new", "in"),
    *(NATIONS, TIMES_OF_DAY),
)
BEFORE_NUMBERS: Final = frozenset[str]().union(
    *(ABOUT, SKIPPED, RANGE_SIGNS, JOINS, CENTURIES, CURRENCIES, ("minus", "q", "fy")),
)


def _token(letters: str, more: str) -> re.Pattern[str]:
    # Only digits need a lookbehind.
    return re.compile(
        rf"""
        [{letters}]+
      | (?=\d)
        (?: (?<![\d.])\d{{4}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)\d{{1,2}}(?!\d)
          | (?<![\d.])\d{{1,2}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)(?:\d{{4}}|\d\d)(?!\d)
          | (?<![\d:.,])\d{{1,2}}:[0-5]\d(?![\d:])
          | \d+(?:[.,]\d+)*
        )
      | {more}
        """,
        re.VERBOSE,
    )


_TOKEN = _token(rf"^\W\d_{UNSPACED}", rf"[{CJK}]+|[-%‰€$£¥₹₩₽¢°~≈/'\"]")
_ASCII_TOKEN = _token("a-z", "[-%$~/'\"]")


@dataclass(slots=True)
class Token:
    """A word, number or mark, and its position."""

    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text, created on access, because most are never needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.texts: list[str] = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
        self._starts: list[int] = []
        self._end = 0
        self._made: dict[int, Token] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> Token:
        token = self._made.get(i)
        if token is None:
            start = self._start(i)
            token = self._made[i] = Token(self.texts[i], start, start + len(self.texts[i]))
        return token

    def _start(self, i: int) -> int:
        # Text between tokens contains no match: any possible start of a token begins one.
        for word in self.texts[len(self._starts) : i + 1]:
            self._end = self._text.index(word, self._end)
            self._starts.append(self._end)
            self._end += len(word)
        return self._starts[i]


@dataclass(slots=True)
class Total:
    """A number that is parsed word by word.

    Attributes:
        words: The number of words so far.
        thousands: The finished part: thousands and above.
        group: The part below a thousand.
        step: The place value of the last word.
    """

    words: int = 0
    thousands: float = 0.0
    group: float = 0.0
    step: float = 1.0

    @property
    def value(self) -> float:
        """The value so far."""
        return self.thousands + self.group

    @property
    def is_round(self) -> bool:
        """Whether the last word was a thousand or more."""
        return self.thousands > 0 and not self.group

    def scale(self, scale: float) -> None:
        """Multiply by a thousand, a million and so on."""
        self.thousands += (self.group or 1) * scale
        self.group, self.step = 0.0, scale

    def hundreds(self, hundreds: int) -> None:
        """Multiply by a hundred, or add hundreds that are one word, such as "doscientos"."""
        multiplies = hundreds == 100 and self.group < 100
        self.group = (self.group or 1) * 100 if multiplies else self.group + hundreds
        self.step = 100.0

    def fits(self, value: int) -> bool:
        """Whether a number below a hundred may follow: "forty two", but not "two three"."""
        tens = self.group % 100
        if not tens:
            return True
        # French counts on in teens from sixty and eighty.
        return (
            (tens % 10 == 0 and tens >= 20 and 0 < value < 10)
            or (tens in (60, 80) and value < 20)
            or (tens == 10 and value in (7, 8, 9))
        )


def _is_in_lakhs(groups: Sequence[str]) -> bool:
    """Whether digits are grouped as in India: 5,00,000."""
    sizes = [len(group) for group in groups]
    return sizes[0] <= 2 and sizes[-1] == 3 and all(size == 2 for size in sizes[1:-1])


def read_digits(text: str, groups_with: Callable[[str], bool]) -> tuple[float | None, float, int]:
    """Parse digits with separators.

    Args:
        text: The digits.
        groups_with: Whether a mark before three digits groups thousands.

    Returns:
        The value, or None; the place value of the last digit; the number of significant digits.
    """
    whole, fraction = text, ""
    marks = [c for c in text if c in ".,"]
    if marks:
        groups = text.replace(",", ".").split(".")
        thousands = all(len(group) == 3 for group in groups[1:]) and 1 <= len(groups[0]) <= 3
        if len(set(marks)) == 2 and marks.count(marks[-1]) == 1:
            whole, fraction = "".join(groups[:-1]), groups[-1]
        elif len(marks) > 1:
            if not (thousands or _is_in_lakhs(groups)):
                return None, 1, 1
            whole = "".join(groups)
        elif thousands and groups[0] != "0" and (groups[1] == "000" or groups_with(marks[0])):
            whole = "".join(groups)
        else:
            whole, fraction = groups
    value = float(f"{whole}.{fraction or 0}")
    # Trailing zeros of a whole number are not significant; those after a decimal point are.
    stripped = whole.lstrip("0") if fraction else whole.strip("0")
    step = 10.0 ** -len(fraction) if fraction else 10.0 ** (len(whole) - len(whole.rstrip("0")))
    return value, step if value else 1.0, max(len(stripped) + len(fraction), 1)


_DIGIT_OR_SIGN = re.compile(r"[0-9$\\]")
_ASCII_WORD = re.compile(r"[a-z]+")


def may_contain_quantity(low: str) -> bool:
    """Return whether a text has a digit, or a word that may begin a quantity.

    Args:
        low: The text in lower case.
    """
    if not low.isascii() or _DIGIT_OR_SIGN.search(low):
        return True
    words = _ASCII_WORD.findall(low)
    if not STARTS_AND_ROMANS.isdisjoint(words):
        return True
    return any(part in low for part in COMPOUND_PARTS)


_NEGATIONS: Final = word_set(
    "not no never none neither nor cannot without nobody nothing nowhere"
    " nicht kein keine keiner keinen keinem keines nie niemals nichts ohne niemand weder"
    " pas jamais aucun aucune sans rien ni"
    " nunca jamás ningún ninguna ninguno tampoco sin nadie nada"
    " non mai nessun nessuno nessuna senza niente"
    " não nenhum nenhuma sem jamais ninguém"
    " niet geen nooit zonder niets niemand nee nein"
) | {
    f"{verb}n{mark}t"
    for verb in word_set(
        "is are was were do does did have has had ca could would should wo must need"
    )
    for mark in "'’"
}
# "isn't" may have been split.
_MAYBE_NEGATIONS: Final = _NEGATIONS | {"t"}
_NOT_NEGATING: Final = word_set(
    "sure certain sicher sûr sûre certaine seguro segura sicuro sicura certeza zeker only just"
    " merely nur seulement solo solamente soltanto apenas alleen know verify mistaken doubt"
    " wrong sais weiß sé so"
)
_NEGATED = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def may_negate(words: Sequence[str]) -> bool:
    """Quick check whether one of a sentence's lower-cased words may negate it."""
    return not _MAYBE_NEGATIONS.isdisjoint(words)


def negations(text: str) -> tuple[tuple[int, int], ...]:
    """Find negating words, as offsets in code points.

    "Not sure", "not only" and the like negate no claim and are left out.

    Args:
        text: Any text.
    """
    if _NEGATIONS.isdisjoint(_NEGATED.findall(text.lower())):
        return ()
    words = [(m.group().lower(), m.start(), m.end()) for m in _NEGATED.finditer(text)]
    found: list[tuple[int, int]] = []
    portuguese: bool | None = None
    for i, (word, start, end) in enumerate(words):
        if word not in _NEGATIONS:
            continue
        following = {w for w, _, _ in words[i + 1 : i + 4]}
        if following & _NOT_NEGATING:
            continue
        if word == "no":
            # In Portuguese it means "in the", and before a digit it is short for "number".
            if portuguese is None:
                portuguese = detect_from_words([w for w, _, _ in words]) == "pt"
            if portuguese or _IS_NUMBERED.match(text, end):
                continue
        found.append((start, end))
    return tuple(found)


_IS_NUMBERED = re.compile(r"\.?\s{0,3}[#*_]{0,3}\d|\.\s?(?:[IVXL]{2,6}|[VX])\b")
