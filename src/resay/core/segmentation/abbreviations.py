"""The words the sentence rules know by name: abbreviations, sentence openers, month names.

All are lower-case and without the final stop. They are words, not rules: what a list means is said
where it is defined, what follows from it is decided in `resay.core.segmentation.sentences`.
"""

from __future__ import annotations

__all__ = [
    "ATTRIBUTIONS",
    "BEFORE_CLOCK",
    "BEFORE_LABEL",
    "BEFORE_NUMBER",
    "BEFORE_ORDINAL",
    "CLOCK",
    "COMPANIES",
    "ERAS_AND_DEGREES",
    "LABELLED",
    "NEVER_FINAL",
    "OPENERS",
    "ORDINAL_MONTHS",
    "PRONOUNS",
    "RARELY_FINAL",
    "ROLES",
    "TITLES",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Before a name: no sentence ends here while they are capitalised (5 ft. is a measure, Ft. a place).
TITLES = _words("""
    dr drs mr mrs ms mx prof profs gen sen rep gov pres capt cpt cmdr cdr lt col sgt maj cpl pvt
    adm brig rev revd hon messrs supt insp atty amb mt ft hr fr frl sra srta dra dña lic ing arq
    gral mme mlle mgr mons dott sig exmo exma dhr mevr dipl hl ste sto sta
""")

# Followed by more of the same sentence, whatever comes.
NEVER_FINAL = _words("""
    e.g i.e eg ie cf c.f vs viz approx ca incl excl esp a.k.a n.b z.b z.t d.h u.a v.a o.ä s.o s.u
    u.u i.d.r i.a bzw vgl evtl ggf sog inkl exkl zzgl abzgl ehem gest verh p.ej p.ex aprox env
""")

# May end a sentence, and mostly do not: only a word that commonly opens a sentence settles it.
RARELY_FINAL = _words("""
    st jr sr esq ave blvd rd hwy bldg co bros dept univ assn assoc inst est al mfg natl intl
    m.sc b.sc m.eng b.eng d.phil m.phil ll.b ll.m ll.d d.sc d.litt b.tech m.tech b.com m.ed
    ed.d psy.d pharm.d mio mrd std jh jhdt jhd chr str tel min sek kap av avda dpto ud uds ee.uu
    geb j.-c
""")

# Inc. and its kind end a sentence before most capitals, but not before these or before CEO, CFO ...
COMPANIES = _words("inc ltd corp llc plc gmbh llp")
ROLES = _words("""
    president chairman chairwoman chief executive founder director vice board shares stock senior
""")

# With a stop before a number (and with a label such as II or A for those in BEFORE_LABEL).
BEFORE_LABEL = _words("""
    no nos nr num núm nº n° fig figs eq eqs sec secs sect ch chap vol vols art arts pt para op ex
    tab abb bd bde kap abs ziff cap lám tít app
""")
BEFORE_NUMBER = BEFORE_LABEL | _words("""
    p pp pg pgs pág págs s ss ff c b d r v ver fl rev ed st rte hwy apt ste rm born geb gest
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    ene abr ago dic janv févr avr juil déc mai okt dez mär max min
""")

# The clock and the calendar end sentences, unless a zone or a day goes on.
CLOCK = _words("a.m p.m")
ERAS_AND_DEGREES = _words("b.c b.c.e c.e a.d a.h ph.d")
BEFORE_CLOCK = _words("""
    est edt pst pdt cst cdt mst mdt et pt ct mt gmt utc bst cet cest ist jst eastern pacific central
    mountain monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july august september october november december
""") | _words("jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri sat sun")

# Words a lone capital belongs to as a label: "vitamin C.", "Group B.", "World War I.".
LABELLED = _words("""
    vitamin vitamins hepatitis influenza plan group groups pool type types grade grades class serie
    division league appendix exhibit section part block schedule option phase case war act side team
    league category model line zone level layer point drive gate terminal building malcolm
""")

# Before "3." in languages that write ordinals with a stop.
BEFORE_ORDINAL = _words("""
    the der die das dem den des im vom zum zur beim ein eine einem einen einer jeder jede jedes und
    seit bis dieser diese dieses seinem seinen seiner ihrem ihren ihrer
""")
ORDINAL_MONTHS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    "|januar|februar|marts?|mars|april|maj|mai|juni|juli|august|september|oktober|november"
    "|desember|december"
)

PRONOUNS = _words("he she it they we you i his her its their our my your one this that these those")

# Closed-class words that open sentences and are seldom part of a name after an abbreviation.
OPENERS = PRONOUNS | _words("""
    the a an in on at by for from with without after before during while when where what why how if
    as although though because since until unless however moreover furthermore additionally besides
    also then there here but and or so yet nor not no yes some many most several both each every
    another today later meanwhile now once to throughout between through among despite unlike
    according following thus therefore hence overall finally nevertheless nonetheless instead
    eventually subsequently initially originally currently previously recently alongside
    upon whether which who within together apart aside given
    it's he's she's they're we're you're i'm i've i'd i'll that's there's what's
    der das dem den ein eine einer im am auf aus und aber oder wir ich er sie es ihr sein seine
    ihre dies diese dieser dieses nach seit mit bei als zu zum zur wenn weil dann danach doch sowie
    wie was wer wo auch nur noch später heute damals dort hier
    el un una en fue su sus por con pero ella él ellos ellas también además después antes cuando
    donde entonces luego hoy este esta estos estas ese esa eso esto según aunque
    il elle ils elles une ce cette ces dans mais puis après avant quand lorsque où ainsi aussi nous
    vous je leur leurs sa son ses
""") - {"one", "your"}

# Verbs that tell who said the quoted question or exclamation before them.
ATTRIBUTIONS = (
    "said|says|asked|asks|replied|replies|answered|answers|exclaimed|exclaims|cried|cries|shouted"
    "|shouts|whispered|whispers|wondered|wonders|yelled|yells|added|adds|remarked|inquired|enquired"
    "|demanded|called|muttered|sagte|fragte|rief|antwortete|dijo|preguntó|exclamó|gritó"
)
