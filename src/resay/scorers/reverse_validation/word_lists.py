"""Words with a special role in names: titles, given names, particles, kinds of things.

They are in lower case and folded as by `resay.scorers.reverse_validation.words.fold`; the modules
`name_forms`, `persons`, `mentions` and `answer_match` define what each list does.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Left out inside a name, where people often omit them: "North East (of) England".
SMALL_WORDS = _words("""
    the a an of de del di da du des la le les el las los der den das dem van von
""")

ARTICLES = _words("the a an")

# Inside names of persons; the Romance ones also inside names of places ("Rio de Janeiro").
ROMANCE_PARTICLES = _words("de del di da du des la le dos das")
PARTICLES = ROMANCE_PARTICLES | _words("van von der den ter ten bin ibn al el abu")

FULL_FORMS = {
    "st": "saint", "ste": "saint", "sta": "santa", "mt": "mount", "mtn": "mountain", "ft": "fort",
    "dr": "doctor", "mr": "mister", "mrs": "missus", "prof": "professor", "rev": "reverend",
    "gen": "general", "col": "colonel", "capt": "captain", "lt": "lieutenant", "sgt": "sergeant",
    "maj": "major", "adm": "admiral", "cmdr": "commander", "gov": "governor", "sen": "senator",
    "pres": "president", "fr": "father", "bros": "brothers", "jr": "junior", "sr": "senior",
    "dept": "department", "univ": "university", "intl": "international", "natl": "national",
    "usa": "unitedstates", "&": "and", "vs": "v", "versus": "v",
}  # fmt: skip

# Only in capitals or with points, because "us" and "un" are other words in lower case.
FULL_IN_CAPITALS = {
    "us": "unitedstates",
    "uk": "unitedkingdom",
    "un": "unitednations",
    "eu": "europeanunion",
}

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {
    word: str(value)
    for words in (_ORDINALS, _CARDINALS)
    for value, word in enumerate(words.split(), 1)
}

OFFICES = _words("""
    emperor empress king queen pope sultan tsar tsarina czar kaiser caliph khan shah pharaoh
    antipope patriarch
""")

TITLES = OFFICES | _words("""
    saint sir dame lord lady mister missus miss ms doctor professor reverend father brother sister
    general colonel captain lieutenant sergeant major admiral commander marshal president governor
    senator chancellor minister premier ambassador judge justice prince princess duke duchess
    archduke archduchess count countess earl baron baroness viscount marquis margrave tsarevich
    bishop archbishop cardinal rabbi imam sheikh emir rajah maharaja chief blessed venerable
""")

# The opening words of a title that readers omit: "The Adventures of Tom Sawyer".
OPENERS = _words("adventures tragedy comedy tale tales legend ballad case story")

# These make another name of the name they precede: Jersey and New Jersey, Korea and North Korea.
DIRECTIONS = _words("""
    north south east west northern southern eastern western northeast northwest southeast southwest
    northeastern northwestern southeastern southwestern upper lower inner outer central middle
    greater lesser great little new old ancient modern medieval proto neo post pre anti non pseudo
    saint santa san sao mount lake fort port cape baja papua equatorial british french dutch spanish
    portuguese german russian american
""")

# After a name they do not change it.
COMPANY = _words("""
    inc incorporated corp corporation co company ltd limited llc plc gmbh ag group holdings motors
    motor records entertainment technologies esq phd md software programming operating
""")

# "The city of X", "the term of X" give X; "the brother of X" does not.
CLASSES = _words("""
    city town village municipality commune hamlet island isle islands state county province region
    district republic kingdom empire nation country territory colony river lake port cape
    concept idea notion term name word phrase title theory principle practice process art science
    field study discipline philosophy religion sport game genre style language people tribe family
    genus species order class phylum element planet moon constellation festival month system
    battle siege treaty house university college
""")

PREPOSITIONS = _words("""
    about above after against alongside among around at before behind below beneath beside besides
    between beyond by despite during except following for from in inside into near not of off on
    onto over outside past per preceding rather since than through throughout to toward towards
    under unlike until upon via versus v with within without like resembling defeated succeeded
    preceded followed replaced
""")

# Nouns for the kind of thing that bears a name. None is a family name on its own.
HEADS = _words("""
    academy act agency agreement airport alliance archipelago arena army assembly association
    authority award band bank basin battle bay beach beetle bird book bridge building bureau
    canal canyon castle cathedral center centre championship channel chronicles church cinema circus
    city civil club coast code college colony comet commission committee conference congress
    convention council county court creek crisis cuisine cup current dam day days delta
    department desert dialect disease district dynasty earthquake election empire engine equation
    era estate event exchange expedition express falls family festival film fire fish flag fleet
    flower football forces forest formula foundation front function fund gallery game games garden
    gardens gate ghetto glacier government group gulf hall harbour harbor highway history hospital
    hotel house hurricane incident industry initiative institute institution island islands isle
    journal jungle kingdom lagoon lake language law league legion library light lighthouse line
    list lodge machine magazine manifesto market massacre match mission moon monastery monument
    mosque motorway mountain mountains movement museum music national navy nebula network news
    number ocean office olympics opera orchestra order organization organisation palace parish park
    parliament party pass path peninsula people philosophy plain plains plan planet plateau
    plant plaza point police port post press principle prison prize proclamation program
    programme project protocol province pyramid race radio railroad railway range rebellion record
    reef reform region regiment republic research reserve reservoir resort revolt revolution rights
    river road rock route ruins rush scandal school science sea series service shrine siege society
    song species speech square stadium star state states station statue strait street studio studios
    summit surrender system team technique telescope television temple tennis territory test theater
    theatre theorem theory times tournament tower town trail train treaty trial tribe trophy tunnel
    union united university valley vehicle village volcano wall war wars water waterfall way wheel
    wiki world year years zone zoo
""")

# Everyday words that are also parts of names.
ORDINARY = (
    HEADS
    | DIRECTIONS
    | _words("""
    all apple art baker band beach bean bear bell best big bird black blood blue boy boys bright
    broken brown brothers bush card carpenter child children christmas color colour cook cross cure
    dark darkness dawn dead death dog door doors dragon dream dreams earth end eye eyes fair fast
    fear field final first fox free freedom friend friends ghost giant girl girls glass god gold
    golden good grace grand gray green grey hand happy hard heart heaven hell hero high hill hope
    horse human hunter ice inside iron island jazz joy justice king kings lamb last law life lily
    lion long lord lost love magic man mask master may men mercy metal middle midnight mind mine
    mirror money monkey morning mother mystery name night nine noble none now oak one open orange
    outside paradise park peace pearl people pepper pirate play poetry police pope power price pride
    prime prince princess private public purple queen rain red rice rich ring road robin rock roman
    rose royal sand sapphire savage secret shadow shepherd ship short silence silver sky sleep small
    smith snow soldier soul sound space spirit spring stone storm strange strong summer sun sweet
    swift sword taylor thing things three time tree trees true truth turner twin two violet voice
    walker warrior water web what white who wild wind winter wise wolf woman women wonder wood
    woods yellow young youth zero
""")
)

GIVEN_NAMES = _words("""
    aaron abdul abigail abraham adam adolf adrian agatha agnes ahmed aisha alan albert alberto
    aldous alejandro aleksandr alex alexander alexandra alexandre alexei alexis alfonso alfred alice
    allen amadeus amanda amelia amy ana anastasia anders andre andrea andreas andrei andres andrew
    andy angela angelo anita ann anna anne anthony antoine anton antonio archibald arnold arthur
    astrid audrey august augustus barbara beatrice benedict benito benjamin bernard bertrand betty
    bill bob boris brad brenda brian bruce bruno calvin carl carla carlo carlos carmen carol
    caroline catherine cecilia cesar charles charlie charlotte chris christian christina christine
    christopher clara clark claude claudia clement colin conrad constantine craig cynthia dan daniel
    daniela dante daphne david deborah denis dennis diana diego dmitri dmitry dominic donald donna
    doris dorothy douglas duncan dylan earl edgar edith edmund eduardo edward edwin eleanor elena
    elias elizabeth ella ellen elliott elvis emil emile emily emma emmanuel enrique eric erik ernest
    erwin esther ethan eugene eva evelyn ezra fatima felix ferdinand fernando fiona florence frances
    francesca francesco francis francisco franco francois frank franklin franz fred frederic
    frederick friedrich fritz fyodor gabriel gareth gary gaston geoffrey georg george georges
    georgia gerald gerard gertrude gilbert giovanni giuseppe gordon grace graham gregory guido
    guillermo gustav gustave guy hannah hans harold harriet harry harvey hassan heinrich helen
    helena henri henrietta henrik henry herbert herman hermann hillary hiroshi honore howard hugh
    hugo humphrey ian ibrahim ida ignatius igor ingrid irene iris isaac isabel isabella isaiah ivan
    jack jackie jacob jacqueline jacques jaime jake james jamie jan jane janet jason javier jean
    jeff jeffrey jennifer jeremy jerry jesse jessica jim jimmy joan joanna joaquin joe joel johann
    johannes john johnny jonathan jorge jose josef joseph josephine joshua juan judith julia julian
    julie juliet julio julius karen karl kate katherine kathleen keith kelly ken kenneth kevin klaus
    kurt larry laura lauren laurence lawrence lee leo leon leonard leonardo leonid leopold leslie
    lewis liam lillian linda lisa lloyd lorenzo louis louisa louise luca lucas lucia lucy ludwig
    luigi luis luke lydia lyndon madeleine malcolm manuel marc marcel marco marcus margaret maria
    marie marilyn mario marion mark martha martin mary mathilde matthew maurice max maximilian may
    megan mehmet melissa michael michel michelangelo michele michelle miguel mikhail milan mildred
    miles miriam mohamed mohammad mohammed morgan muhammad murray nancy natalia natalie nathan
    nathaniel neil nelson nicholas nicolas nicole niels nikita nikola nikolai nikolay nina noah noam
    nora norman octavia oleg olga oliver olivia omar oscar oskar otto pablo pamela patricia patrick
    paul paula pavel pedro penelope percy peter philip philippe phillip pierre pietro quentin rachel
    ralph ramon raphael raymond rebecca rene ricardo richard rita robert roberta roberto rodrigo
    roger roland roman ronald rosa rosemary ross roy rudolf rudolph rudyard rupert russell ruth ryan
    salvador sam samantha samuel sandra sara sarah scott sean sebastian sergei sergey sergio sharon
    sheila shirley sidney siegfried sigmund silvia simon simone sofia solomon sonia sophia sophie
    stanley stefan stella stephanie stephen steve steven stuart susan sylvia takashi tatiana ted
    teresa terry theodor theodore theresa thomas tim timothy tom tony tracy umberto ursula valentina
    vanessa vasily veronica victor victoria viktor vincent virginia vittorio vivian vladimir wallace
    walt walter warren wendy werner wilfred wilhelm will william winston wolfgang woodrow xavier
    yasser yuri yves zachary
""")
