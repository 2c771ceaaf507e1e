"""Phrases of English, German, Dutch, and of Swedish, Danish and Norwegian, which are combined.

The fields are those of `Phrases`.
"""

from __future__ import annotations

from typing import Final

from resay.core.phrases import Phrases

ENGLISH: Final = Phrases(
    speaker="i",
    me="me my us our mine myself",
    you="you your yours yourself",
    negation="""
    not unable unclear impossible hard difficult tough decline refuse pass neither nor silent fail
    fails omit omits lack lacks nowhere without unspecified unanswered unmentioned
    """,
    nothing="none nothing",
    able="""
    can could may might will shall must able unable allowed permitted authori* qualified equipped
    capable designed programmed comfortable position decline refuse rather prefer
    """,
    be="am is are was were be been being",
    do="do does did have has",
    have="have has had got having find found see",
    possible="""
    possible impossible hard difficult tough way appropriate right ethical responsible best better
    important advisable wise
    """,
    know="""
    know aware sure certain familiar recall recogni* remember understand given provided told trained
    shown unclear possess retain store hold follow idea looked searched checked went gone read
    """,
    act="""
    say tell give provide offer share discuss comment speculate guess guarantee predict forecast
    diagnose assess evaluate judge determine identify locate find verify confirm advise recommend
    suggest disclose reveal look answer respond reply decline refuse pass engage participate comply
    fulfil* help support translate interpret calculate express form hold get know speak talk do
    encourage urge
    """,
    serve="""
    help assist explain expand elaborate clarify summari* guide adjust tailor answer review describe
    outline list explain clears helps helped tell think
    """,
    say="""
    say says mention mentions state states specify specifies address addresses discuss discusses
    indicate* describe describes explain explains clarify clarifies answer answers tell tells touch
    elaborate silent leave leaves
    """,
    contain="""
    contain contains include* provide* give gives have has offer offers make makes lack lacks omit
    omits
    """,
    stated="mentioned named stated specified addressed discussed indicated",
    held="""
    given listed provided included described disclosed covered documented found available contained
    present part shown inferred derived established determined answered clear
    """,
    exist="there appear found left leave leaves",
    document="""
    document* context text texts source sources material* passage* handbook manual guide* excerpt*
    article* file* page pages lease contract agreement policy report letter invoice brochure leaflet
    e-mail email mail transcript minutes memo readme datasheet sheet notes faq form chapter section
    snippet* link links listing pdf reference* website* site sites internet web app apps news docs
    label* database* code base license note chart screenshot image photo certificate statement
    attachment*
    """,
    information="""
    information info detail* data answer* response* reply overview summary summaries explanation*
    content contents knowledge fact facts record* specifics mention* indication request* message*
    task bullets version breakdown example* description conversation* recommendation* reference*
    context title* page* place checklist template draft query
    """,
    advice="""
    advice recommendation* guidance counsel consultation* opinion* diagnosis substitute examination
    treatment
    """,
    adviser="""
    doctor* physician* lawyer* attorney* solicitor* expert* adviser* advisor* professional*
    therapist* accountant* human person pharmacist* specialist* veterinarian* psychologist* dentist*
    counsellor counselor technician* electrician* mechanic* plumber* contractor* authorit* police
    emergency support service* staff administrator* supervisor provider* manufacturer* retailer*
    seller* help assistance attention care treatment counsel advice opinion nurse* consultant*
    dermatologist* psychiatrist* surgeon* scientist* engineer* chemist* gp
    """,
    replace="""
    replace* constitute* considered taken meant intended construed treat treated consider take
    substitute rely considering seen understood regarded
    """,
    machine="ai language model assistant chatbot bot machine program",
    consult="""
    consult* contact* ask asking see seeing visit* call calling speak* talk* check* refer* seek* get
    getting reach turn try
    """,
    pointer="""
    this that these those it them here there above following below something anything else more
    everything
    """,
    here="here",
    condition="if whenever should unless once as",
    courtesy="happy glad ready pleased delighted gladly kindly please",
    flaw="""
    outdated up-to-date current incomplete inaccurate accurate wrong incorrect mistaken complete
    errors mistakes inaccuracies vague unclear ambiguous broad short cutoff cut-off limited date
    """,
    small="""
    a an any some of to on in about for from with by as at or and so also just really only regarding
    concerning actually currently personally simply still yet even than both directly exactly
    clearly enough much many such quite very too now then explicitly specific specifically further
    additional honestly always already own all each another other anyone someone up out into over
    through one ones live real time reliable would should latest medical legal financial
    professional private based according bit go yes-no widely per way publicly previously few
    several step doing bringing pointing sharing letting kind day-to today tomorrow back again there
    else but unfortunately could please bear keep asked requested wanted needed young simpler feel
    properly useful helpful want need like going entirely completely fully certainly absolutely
    being strongly purely indeed
    """,
    attributes="""
    address age amount author category colour color cost date deadline duration fee height location
    name number origin place price purpose result size time title topic type value weight year
    profession
    """,
    disclaimer=r"""
    without (?:\w+ing|more|further|additional) {rest}|not as (?:\w+ ){0,2}advice
    | (?:every|each) (?:case|situation|person) is different|as far as i (?:can (?:see|tell)|know)
    | (?:this|these|things) (?:may|might|could) have changed(?: since {rest})?
    | (?:an?|your) (?:solicitor|lawyer|doctor|professional|expert|specialist|pharmacist) (?:can
      |could|may|might|will)
    | (?:from|with|based on|given) what you have \w+
    | (?:i am )?(?:very |so |really )?sorry (?:about|to hear|for) {rest}
    | (?:please )?(?:take|treat) (?:this|my|it|these)(?: \w+)? with (?:a (?:grain|pinch) of salt
      |caution|care)
    | (?:please )?do not rely (?:only |solely )?on (?:this|my|it|these)(?: \w+)?(?: alone)?
    """,
    refusal=r"""
    there is no way (?:for me )?to (?:know|tell|say|check|verify|find out)(?: {rest})?
    | i would need(?: to (?:see|know|have|read|check))? (?:the |more |some )?(?:full |complete
      |actual )?{rest}
    | i can only (?:help|assist|answer|talk|speak|discuss|respond|support)(?: {rest})?
    | (?:it|that|this) is (?:beyond|outside|out of) (?:of )?(?:what i|my|the|our) {rest}
    | there is no (?:\S+ ){1,3}(?:by|with|under|of) (?:that|this) (?:name|title|description)
    | there (?:could|may|might) be (?:several|many|multiple|different|other) \S+ (?:with|by
      |of) {rest}
    """,
    question=r"how does that sound|ready to .*|would it help\b.*|.*what do we have here",
    referral=r"""
    (?:please |you (?:should|can|could) )?(?:consult|contact|check with|ask|talk to|speak (?:to
      |with))
      (?:an?|your|our|any) {rest}
    | (?:please )?(?:always )?(?:verify|confirm|double-check|cross-check|check) (?:this|that|it
      |these|any|all|anything(?: important)?|with|the \S+)(?: {rest})?
    | (?:when|if) in doubt
    | (?:for|before|when|if) (?:more|further|accurate|current|making|taking|doing|anything|in doubt
      |you are (?:not )?(?:sure|comfortable|in)) {rest}
    """,
    greeting="""
    hello hi hey greetings howdy welcome ahoy goodbye bye farewell cheers thanks thank appreciate
    appreciated anytime enjoy congratulations regards wishes sincerely hope understood noted gladly
    behold hesitate let alright dear worries worries pleasure aye arr arrr depends please oh ah aha
    hm hmm matey mate mates sir madam meet shout wish problem trouble
    """,
    praise="""
    great good excellent interesting fantastic wonderful delightful marvel* curious intriguing
    charming nice lovely cool thoughtful tricky fine splendid superb brilliant clever fair valid
    happy safe fun free glad simple best warm
    """,
    wish="""
    morning afternoon evening night day weekend luck trip travels journey meal wishes time week
    reading coding cooking baking learning holiday regards fun rest
    """,
    apology="""
    sorry apolog* afraid unfortunately regrettably disclaimer note reminder caveat excuse pardon
    honestly frankly alas mind remember
    """,
    assumes="""
    was were had because since although though given right correct exactly-no believe imagine
    realise realize noticed heard aware who whose
    """,
    polite=r"""
    take (?:good )?care(?: of yourself)?|stay safe|(?:safe|happy) \w+|sounds (?:good|great)|got it
    | let us (?:break it down|go|dive in|get started)|does (?:that|this|it) make sense|below
    | (?:that|this|it) (?:helps?|clears things up|makes sense)|i am (?:all ears|doing well)
    | (?:it is )?(?:so |very )?(?:a pleasure|nice|great|good|lovely|wonderful) to (?:meet|see
      |hear from|have) you(?: \w+)?|(?:and )?you are doing (?:\w+ )?(?:well|great)
    | feel free(?: {rest})?|(?:is there )?(?:anything|something) (?:else|more)(?: {rest})?|any time
    | (?:see|talk to) you(?: (?:soon|later|around|again))?|well|just ask|ask away|just say so
    | (?:that|this) (?:name )?does not ring a bell|as (?:requested|promised)
    | you can do (?:this|it)|keep (?:it up|going|at it)|(?:bear|keep) in mind
    | (?:(?:my|dear|brave|young|good|fellow) )+(?:friends?|partner|captain|travell?er|adventurer)
    | well done|keep up the good work
    | (?:just )?(?:let me know|say the word|tell me|reach out|do not hesitate)(?: {rest})?
    | i would (?:love|like) to (?:help|explain)(?: {rest})?
    | (?:i )?hope (?:that|this|it) is (?:useful|helpful|clear)
    | (?:i )?hope (?:that|this|it|you) {rest}
    | i can (?:also )?(?:put|turn|make|format|check) (?:this|it|that|these|you) {rest}
    | let (?:me|us) (?:explain|break|walk|help|show|take|look|check|see)(?: {rest})?
    | (?:thanks|thank you) for \w+ing(?: {rest})?|thanks for the \w+|(?:well )?hello there
    | your mileage may vary|very well|you are (?:very |too |so )?kind|ready when you are
    | take your time|no rush(?: at all)?|wishing you {rest}|i understand how you feel
    | (?:that|this) must be (?:hard|difficult|tough|frustrating)|at your service|aye aye
    | interesting|fascinating|intriguing|much appreciated
    | (?:now )?(?:that|this|it) is an? \w+ thing to ask
    | do not (?:worry|give up|be (?:so |too )?hard on yourself)(?: about (?:it|that|this))?
    """,
    no="no neither",
    faculty="""
    access ability abilities way means memory memories preference* feeling* experience* belief*
    capabilit* opinion* emotion* skill* tools permission idea clue
    """,
    deed="contract agreement lease policy form license",
    unsaid="open unspecified unanswered unmentioned",
    joins="and but so or",
    turns="but because since although though while however",
    learn="know hear learn list discuss continue explore see show",
    purpose="about because before after for if when without",
    which="what which",
    handle="""
    see open view read access browse check send draw call book create generate write make go search
    retrieve perform seeing finding inspect
    """,
    never="never",
    heard="heard encountered",
    tour="walk go dive dig play act begin break look take hear chat compare",
    given="""
    provided given supplied uploaded enclosed shared sent gave pasted linked official officially
    online attach*
    """,
    theme="""
    achievement success news progress work job goal plan start choice catch sense words confusion
    mistake mistakes inconvenience error errors misunderstanding delay future person function script
    snippet command implementation solution story stories thing things kind question* point points
    topic* matter one term terms name subject step steps bullet list situation case basics clause
    section paragraph clarification
    """,
    within="in from by according based part per within with given",
    role="as being",
    general="general informational educational purposes guidance",
    verify="verify verifying confirm double double-check cross-check check",
    vocative="traveler traveller adventurer partner captain",
    treat="cover covers name names list lists go address",
    silence=r"""
    unknown|not (?:available|applicable|known)|no (?:mention|reference) is made (?:of|to) {rest}
    | it (?:does|did) not (?:say|mention|specify)(?: {rest})?
    | (?:that|this|it) is not something the \w+ (?:covers?|says?|mentions?)
    | (?:that|this|the) (?:detail|information|answer) (?:is|are) (?:missing|absent) from {rest}
    | the \w+ you are (?:asking|looking) (?:about|for) is not {rest}
    """,
    definites="the",
    others="why her his their she he him whose its",
    things="it",
    interrogatives="who whom what when where how which whether",
    claims="""
    that while because since although though however but is are was were am be been being has have
    had did does do became born died despite also actually instead meaning
    """,
)

GERMAN: Final = Phrases(
    speaker="ich",
    me="mir mich mein meine meinen meiner meinem uns unser* wir",
    you="du dir dich dein* sie ihnen ihr ihre ihren ihrer",
    negation="nicht unmöglich schwer schwierig passen ablehnen",
    nothing="nichts",
    able="""
    kann kannst können könnte könnten darf dürfen werde will möchte muss würde soll lage befugt
    berechtigt imstande vermag möchtest möchten willst wollen brauchst brauchen darfst schlüpfe
    helfe erkläre spiele übernehme gehe sollten solltest sollte konnte
    """,
    be="bin ist sind war sein wird werden wurde wurden",
    have="habe hat haben verfüge besitze finde liegen liegt fehlen fehlt kenntnis",
    possible="möglich unmöglich schwer schwierig",
    know="""
    weiss kenne sicher vertraut bekannt verstehe erinnere gefunden bewusst erhalten gesucht
    nachgesehen durchgesehen gelesen nachgelesen überfragt durchsucht
    """,
    act="""
    sagen geben nennen erteilen bieten anbieten teilen besprechen kommentieren spekulieren
    garantieren vorhersagen stellen beurteilen bewerten einschätzen bestimmen feststellen ermitteln
    finden überprüfen bestätigen empfehlen raten beantworten antworten weitergeben herausgeben
    unterstützen beraten helfen weiterhelfen auskunft äussern entnehmen ersehen erkennen passen
    ablehnen wissen empfehle rate zugreifen machen tun leisten
    """,
    serve="""
    helfen erklären erläutern zusammenfassen antworten beantworten helfe erkläre erläutere
    weiterhelfen anpassen beschreiben vertiefen ausführen hilft weiterhelfe
    """,
    say="""
    sagt sagen erwähnt erwähnen nennt nennen beschreibt beschreiben erklärt erklären äussert angibt
    thematisiert verrät schweigt lässt lassen
    """,
    contain="enthält enthalten gibt geben macht machen liefert liefern bietet bieten nennt",
    stated="""
    erwähnt genannt angegeben beschrieben erklärt erläutert gesagt aufgeführt hervor entnehmen
    ersichtlich thematisiert vermerkt
    """,
    held="enthalten geregelt ableiten ersehen zu finden festgelegt",
    exist="gibt steht stehen findet finden geht fehlt wird",
    document="""
    dokument* unterlag* kontext* text texte texten quelle* handbuch* anleitung* auszug auszügen
    vertrag* bericht* brief rechnung broschüre* prospekt* richtlinie* protokoll* merkblatt
    packungsbeilage e-mail mail datei* website* webseite* seite seiten app internet dokumentation
    nachrichten mietvertrag* police *vertrag *bericht *anleitung *handbuch *blatt *unterlagen *text
    *seite brief* notiz* tabelle* *brief artikel* *artikel code skript *zettel
    """,
    information="""
    information* daten angabe angaben kenntnis* detail* auskunft auskünfte hinweis* antwort
    antworten regelung* einzelheiten ahnung anfrage zusammenfassung überblick übersicht beispiel*
    erklärung* version
    """,
    advice="""
    beratung rechtsberatung anlageberatung finanzberatung steuerberatung empfehlung* rat ratschlag
    ratschläge diagnose* besuch gespräch konsultation anlageempfehlung kaufempfehlung untersuchung
    *beratung *empfehlung* *rat *diagnose *besuch
    """,
    adviser="""
    arzt ärzte ärztin ärztlich* apotheker* apotheke anwalt anwältin rechtsanwalt rechtsanwält*
    jurist* fachmann fachleute fachperson* facharzt experte* expertin spezialist* behörde* polizei
    notruf kundendienst kundenservice support hersteller händler anbieter berater* steuerberater*
    finanzberater* notdienst krankenhaus mensch therapeut* tierarzt *arzt *ärztin *anwalt *anwältin
    *berater* *experte*
    """,
    replace="""
    ersetzt ersetzen stellt dar sollte sollten gilt gelten verstehen betrachten dient dienen
    """,
    machine="ki sprachmodell modell assistent chatbot künstliche intelligenz maschine programm",
    consult="""
    wende wenden konsultier* kontaktier* frage fragen sprich sprechen ruf rufen suche suchen besuch*
    prüf* schau* lies lesen informier* nutze hol* aufsuchen
    """,
    pointer="""
    das dies dieser diese dieses diesem diesen es dazu darüber davon hierzu dabei hier da damit
    darauf dem dort mehr etwas
    """,
    here="hier nachfolgend nachstehend folgend*",
    condition="wenn falls sofern",
    courtesy="gern gerne ehrlich freue natürlich",
    flaw="veraltet unvollständig fehlerhaft irren fehler falsch ungenau",
    small="""
    ein eine einen einem einer eines und oder zu zum zur für auf an bei von vom über in im mit aus
    als nach nur auch noch so sehr genau wirklich momentan aktuell derzeit selbst sich doch aber
    also jedoch ganz gar mal weitere* nähere* konkrete* bezüglich sowie lediglich allgemein*
    persönlich* kurz* eigene* unter am beim ans kurz ja laut gemäss basis grundlage ob leider bitte
    tut sonst einfach lieber genauer schritt ausführlicher näher zweifel unklar besten immer
    anwaltlich*
    """,
    attributes="""
    adresse alter anzahl autor betrag datum dauer farbe frist gebühr gewicht grösse grund höhe jahr
    kosten länge name namen ort preis preises thema titel ursache wert zahl zeit zeitpunkt zweck
    """,
    referral=r"""
    lassen sie sich (?:\S+ ){0,4}(?:beraten|untersuchen)
    | (?:weitere|mehr|aktuelle|genaue) information\w* (?:finden sie|findest du|gibt es)(?: \S+){1,6}
    | (?:für|zu|bei) (?:weitere[nr]?|aktuelle[nr]?|genaue(?:re)?[nr]?|mehr|konkreten?) {rest}
    | ich (?:empfehle|rate)(?: (?:ihnen|dir))?
    """,
    greeting="""
    hallo hi hey servus moin grüezi willkommen wiedersehen tschüss danke dank bitte hoffe
    hoffentlich glückwunsch gratuliere grüss* gruss grüsse melde melden geschehen verstanden sag
    sagen lass lassen freut problem ursache scheu zögern bescheid kennenzulernen gerne gern ah
    """,
    praise="""
    gut* toll* interessant* spannend* schön* super klasse prima herzlich* viel viele vielen beste*
    lieb* freundlich* geehrte*
    """,
    wish="""
    morgen tag abend nacht erfolg spass vergnügen freude wochenende reise fahrt glück appetit zeit
    wünsche grüsse
    """,
    apology="""
    entschuldig* verzeih* leid leider sorry hinweis wichtig beachten beachte haftungsausschluss
    bedauerlicherweise
    """,
    assumes="war waren dass weil",
    polite=r"""
    (?:das|dies) (?:hilft|beantwortet deine frage|beantwortet ihre frage)(?: (?:dir|ihnen))?
    | (?:mir|es) geht (?:es )?(?:mir )?gut|wie geht(?:'s| es)(?: (?:dir|ihnen))?|ergibt das sinn
    | schön(?: (?:dass|sie|dich|von) {rest})?|nun|(?:das )?kommt (?:ganz )?darauf an
    | bis (?:bald|dann|später)|jederzeit(?: wieder)?
    """,
    no="kein keine keinen keiner keines keinem keinerlei",
    faculty="""
    zugriff fähigkeit* vorliebe* meinung* gefühl* erfahrung* erinnerung* möglichkeit* werkzeug*
    """,
    deed="vertrag* mietvertrag* police richtlinie* *vertrag",
    unsaid="offen unerwähnt unbeantwortet",
    joins="und aber oder",
    turns="aber weil obwohl denn",
    learn="wissen erfahren hören",
    purpose="vor für wegen bevor wenn",
    which="was welche welcher welches welchen welchem",
    handle="""
    sehen öffnen abrufen lesen prüfen senden schicken ausführen durchsuchen verfassen schreiben
    """,
    never="nie niemals",
    heard="gehört",
    tour="schlüpfe spiele übernehme gehe eingehen",
    given="bereitgestellt* vorliegend* angegeben* beigefügt* angehängt* gezeigt* offiziell* online",
    theme="""
    rolle liste person punkt punkte punkten schritt schritte schritten thema zukunft begriff
    echtzeit frage fragen bitte
    """,
    within="in im aus laut gemäss nach auf basis grundlage",
    role="als",
    general="allgemein* gewähr orientierung informationszwecken",
    silence=r"unbekannt",
    definites="den dem des der die im zum zur vom am beim",
    others="""
    warum wieso weshalb sein seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres
    """,
    things="es das dies",
    interrogatives="""
    wer wen wem wessen was wann wo woher wohin wie wieviele ob welche welcher welches welchen
    welchem warum wieviel
    """,
    claims="""
    ist sind war waren hat hatte hatten wurde wurden wird geboren starb gewann dass weil da obwohl
    aber jedoch denn gewusst
    """,
    comma_before_question=True,
    has_capitals=True,
)

DUTCH: Final = Phrases(
    speaker="ik",
    me="mij me mijn ons onze",
    you="je jij jou jouw u uw",
    negation="niet onmogelijk moeilijk lastig",
    nothing="niets niks",
    able="kan kun kunt kunnen mag mogen zal zou zouden wil moet staat bevoegd kruip speel help leg",
    be="ben is zijn was wordt worden werd werden",
    have="heb heeft hebben beschik vind vond",
    possible="mogelijk onmogelijk moeilijk lastig",
    know="""
    weet weten ken zeker begrijp herinner bekend vertrouwd gevonden gekregen gezocht gelezen bekeken
    doorzocht
    """,
    act="""
    zeggen geven bieden verstrekken delen bespreken speculeren garanderen voorspellen stellen
    beoordelen bepalen vaststellen vinden verifiëren bevestigen aanbevelen adviseren beantwoorden
    antwoorden helpen weten raden noemen vertellen achterhalen opmaken raad adviseer doen
    """,
    serve="""
    helpen uitleggen toelichten samenvatten ingaan antwoorden vertellen beschrijven help leg helpt
    """,
    say="""
    zegt zeggen vermeldt vermelden noemt noemen beschrijft beschrijven meldt melden rept laat laten
    legt
    """,
    contain="bevat bevatten geeft geven biedt bieden heeft",
    stated="vermeld genoemd beschreven aangegeven gezegd uitgelegd gemeld",
    held="opgenomen gevonden vinden",
    exist="er staat staan daar wordt worden",
    document="""
    document* context* tekst* bron bronnen handleiding* handboek contract* brochure* rapport*
    bestand* fragment* pagina* website* site internet app folder documentatie *contract huurcontract
    polis brief* mail notitie tabel artikel* folder* code
    """,
    information="""
    informatie gegevens detail* antwoord* kennis vermelding idee samenvatting overzicht voorbeeld*
    uitleg
    """,
    advice="""
    advies aanbeveling* diagnose* consult bezoek gesprek rechtsadvies beleggingsadvies *advies
    onderzoek
    """,
    adviser="""
    arts huisarts dokter apotheker advocaat jurist* professional* deskundige* expert* specialist*
    autoriteiten politie hulpdiensten klantenservice helpdesk fabrikant verkoper leverancier
    adviseur mens therapeut dierenarts *arts *adviseur *advocaat financieel
    """,
    replace="vervangt vervangen vormt vormen bedoeld beschouwd beschouwen",
    machine="ai taalmodel model assistent chatbot kunstmatige intelligentie",
    consult="""
    raadpleeg raadplegen bel bellen vraag vragen neem nemen contacteer spreek praat overleg ga kijk
    bezoek zoek lees gebruik
    """,
    pointer="""
    dit dat deze die het er daar hier daarover hierover daarvan daarmee hierbij meer iets hiermee
    """,
    here="hier hieronder",
    condition="als indien wanneer",
    courtesy="graag helaas alsjeblieft alstublieft gerust eerlijk",
    flaw="verouderd onvolledig onjuist vergissen fouten",
    small="""
    een en of te om voor op aan bij van over in met uit naar ook nog zo heel echt precies momenteel
    zelf wel door dus maar toch alleen verdere nadere specifieke persoonlijke korte kort twijfel
    altijd eigen tot al volgens basis helaas liever als
    """,
    attributes="""
    aantal adres auteur bedrag datum doel duur gewicht hoogte jaar kleur kosten lengte leeftijd naam
    oorzaak onderwerp plaats prijs reden titel waarde tijd
    """,
    referral=r"""
    voor (?:meer|actuele|verdere|nauwkeurige) {rest}
    """,
    greeting="""
    hallo hoi hey hi dag welkom goedemorgen goedemiddag goedenavond goedenacht welterusten doei
    ziens bedankt dank gedaan alsjeblieft alstublieft aangenaam begrepen hoop groet* groeten laat
    ontmoeten probleem hangt graag ah
    """,
    praise="""
    goed goede leuk leuke interessant* fijn fijne prettig* mooi* hartelijk* vriendelijk* heel veel
    """,
    wish="morgen middag avond nacht dag weekend succes plezier reis week groeten",
    apology="sorry pardon helaas spijt excuses disclaimer",
    assumes="omdat dat",
    polite=r"""
    (?:dit|dat) (?:je |u )?helpt|hoe gaat het(?: met (?:je|u|jou))?|eet smakelijk
    | tot (?:straks|later)
    """,
    no="geen",
    faculty="toegang mening* gevoel* ervaring* herinnering* voorkeur* mogelijkheid",
    deed="contract* *contract huurcontract polis",
    unsaid="open onvermeld",
    joins="en maar dus of",
    turns="maar omdat hoewel",
    learn="weten horen",
    purpose="voor als",
    which="wat welk welke",
    handle="zien openen lezen controleren schrijven sturen zoeken opzoeken",
    never="nooit",
    heard="gehoord",
    tour="spelen kruip speel",
    given="verstrekte gegeven bijgevoegde aangeleverde officiële officieel online",
    theme="rol lijst persoon punt punten stap stappen onderwerp toekomst vraag vragen",
    within="in volgens uit op",
    role="als",
    general="algemeen bedoeld",
    silence=r"onbekend",
    definites="de het",
    others="waarom haar hun zij ze hij hem",
    things="het dit dat",
    interrogatives="wie wat wanneer waar hoe hoeveel welke welk",
    claims="""
    die dat omdat want is zijn was waren heeft had hadden werd werden geboren stierf won maar hoewel
    toch
    """,
)

NORDIC: Final = Phrases(
    speaker="jag jeg",
    me="mig meg min mit mitt mina mine oss os",
    you="du dig deg din ditt dit dine dina ni er jer dere",
    negation="inte ikke omöjligt umuligt umulig svårt svært vanskelig",
    nothing="ingenting ingenting inget intet",
    able="kan kunde kunne får må vil vill ska skal kommer",
    be="är er var vara være blev ble bli",
    have="har hittar finner hittade fandt fant finder",
    possible="möjligt muligt mulig svårt svært vanskelig omöjligt umuligt umulig",
    know="""
    vet ved veit känner kender kjenner säker sikker bekant bekendt förstår forstår fundet funnet
    hittat husker minns
    """,
    act="""
    säga sige si ge give gi gi erbjuda tilby tilbyde dela dele svara svare hjälpa hjælpe hjelpe
    bekräfta bekræfte bekrefte rekommendera anbefale råda rådgive gissa gætte gjette avgöra afgøre
    avgjøre bedöma bedømme finna finde finne hitta ställa stille veta vide vite uttala förutsäga
    forudsige
    """,
    serve="""
    hjälpa hjælpe hjelpe förklara forklare sammanfatta opsummere oppsummere svara svare berätta
    fortælle fortelle utveckla uddybe utdype beskriva beskrive hjälper hjælper hjelper
    """,
    say="""
    säger siger sier nämner nævner nevner angiver oppgir beskriver beskriver framgår fremgår omtaler
    omtalar lämnar anger
    """,
    contain="innehåller indeholder inneholder ger giver gir",
    stated="""
    nämnts nævnt nevnt angivet angett oppgitt beskrivet omtalt nämns nævnes nevnes anges angives
    oppgis omtales beskrivs beskrives
    """,
    held="med",
    exist="finns findes finnes står",
    document="""
    dokument* text texten texterna tekst teksten kontext* kontekst* källan källor* kilde* kilden
    manual* handbok* håndbog* håndbok* underlag* broschyr* brochure* brosjyre* avtal* kontrakt*
    rapport* fil* sida sidan side siden internet nettet webbplats* hjemmeside* nettside* aftale*
    avtale* brev* mejl e-post notat* tabell* artikel*
    """,
    information="""
    information* informasjon uppgift* oplysning* opplysning* detalj* svar data kunskap* viden
    kunnskap* sammanfattning opsummering oppsummering exempel eksempel* idé
    """,
    advice="råd rådgivning rekommendation* anbefaling* anbefalning* diagnos* diagnose* rådgivning",
    adviser="""
    läkare läge læge lege jurist* advokat* expert* ekspert* specialist* apotek* rådgivare rådgiver
    människa menneske fackman fagmand fagperson *läkare *læge *lege *rådgivare *rådgiver
    """,
    replace="ersätter erstatter utgör udgør utgjør",
    machine="""
    ai språkmodell språkmodel sprogmodel modell model assistent chatbot artificiell intelligens
    kunstig
    """,
    consult="""
    kontakta kontakt kontakte rådfråga spørg spør tala tal snakk ring besök besøg besøk konsulter*
    se
    """,
    pointer="det detta dette denna denne den dessa disse där der här her där hit dit om",
    here="här her nedan nedenfor",
    condition="om hvis",
    courtesy="tyvärr desværre dessverre gärna gerne gjerne ledsen",
    flaw="föråldrad* forældet utdatert* fel feil fejl ofullständig*",
    small="""
    en ett et och og eller att at å till til för for på i med av af från fra også också som mer mere
    noe något noget nogen bara bare kun mycket meget veldig lite just nu nå något om vedr egen eget
    så enligt ifølge tyvärr desværre dessverre men videre
    """,
    attributes="""
    pris priset prisen vikt vikten vægt vægten vekt vekten namn namnet navn navnet datum datumet
    dato datoen år året storlek storleken størrelse alder åldern ålder orsak årsag årsak
    """,
    interrogatives="""
    vem vad när var hur vilken vilket vilka hvem hvad hva hvornår når hvor hvordan hvilken hvilket
    hvilke om
    """,
    others="hans hennes hendes deras deres han hon hun varför hvorfor sin sitt sina sine",
    greeting="""
    hej hei hallå hallo hejsan välkommen velkommen adjö farvel tack tak takk varsågod hyggelig
    hoppas håber håper hälsning* hilsen hilsner orsak fara årsak problem* hör säg sig si lycka lykke
    til kul
    """,
    praise="""
    bra god godt gott intressant interessant fin fint trevlig hyggelig* vänlig* vennlig venlig varma
    tusen mange så
    """,
    wish="morgon morgen kväll kveld aften dag natt lycka lykke helg weekend resa tur dag",
    apology="ledsen beklagar beklager förlåt undskyld unnskyld ursäkta tyvärr desværre dessverre",
    assumes="att at fordi eftersom",
    no="ingen inga inget intet noget någon några noe noen nogen",
    faculty="""
    tillgång adgang tilgang åsikt* mening* følelse* känslor aning anelse möjlighet mulighed mulighet
    """,
    deed="avtal* kontrakt* aftale* avtale*",
    unsaid="öppet åbent åpent",
    joins="och men og eller",
    turns="men eftersom fordi",
    learn="veta vide vite höra høre",
    purpose="före før om hvis",
    which="vilken vilket vilka hvilken hvilket",
    handle="se öppna åbne åpne läsa læse lese kontrollera",
    never="aldrig aldri",
    heard="hört hørt",
    tour="spela spille",
    given="vedlagte bifogade",
    theme="""
    roll rolle steg punkt* trin realtid* emne ämne framtid* fremtid* fråga frågor spørgsmål spørsmål
    """,
    within="i enligt ifølge av af",
    role="som",
    general="generell* allmän*",
    definites="den det de",
    definite_endings="na ne en et ene erne",
    comma_before_question=True,
    claims="som att där eftersom är hade blev född dog men dock fordi",
)
