"""Phrases of Romance and other languages.

The fields are those of `Phrases`. Polish, Russian, Turkish, Arabic, Hindi, Japanese, Chinese and
Korean have the most common phrases. Japanese and Chinese have no spaces: their patterns limit the
number of characters where others have `{rest}`.
"""

from __future__ import annotations

from typing import Final

from resay.core.phrases import Phrases

FRENCH: Final = Phrases(
    speaker="je j",
    me="me m moi mon ma mes nous notre",
    you="vous tu te t toi ton ta tes votre vos",
    negation="pas impossible difficile ignore refuse refuser décliner",
    nothing="rien",
    able="""
    peux puis pourrais dois vais veux suis mesure capable apte autorisé autorisée habilité habilitée
    peut permet permettent vais préfère explique souhaitez souhaites voulez voudriez désirez
    aimeriez
    """,
    be="suis est sont être serait soit serais",
    have="ai a ont avoir dispose possède trouve trouvé",
    possible="possible impossible difficile",
    know="""
    sais connais sûr sûre certain certaine comprends souviens ignore trouvé reconnais familier
    cherché lu parcouru consulté
    """,
    act="""
    dire donner fournir offrir proposer partager discuter commenter spéculer garantir prédire
    prévoir poser évaluer juger déterminer identifier trouver vérifier confirmer recommander
    conseiller répondre aider savoir refuser décliner préciser parler révéler divulguer recommande
    conseille suggère comporter
    """,
    serve="""
    aider expliquer répondre résumer détailler préciser approfondir développer clarifier présenter
    décrire aide utile aidera explique
    """,
    say="""
    dit disent mentionne mentionnent précise précisent indique indiquent parle parlent explique
    expliquent répond répondent aborde abordent évoque évoquent spécifie laisse laissent
    """,
    contain="""
    contient contiennent fournit fournissent donne donnent comporte comprend comporter contenir
    """,
    stated="""
    mentionné mentionnée mentionnés mentionnées indiqué indiquée indiqués indiquées précisé précisée
    précisés précisées spécifié spécifiée évoqué évoquée
    """,
    held="donné donnée décrit décrite figure apparaît inclus incluse disponible",
    exist="y figure apparaît trouve",
    document="""
    document* contexte texte textes source sources manuel guide extrait extraits documentation
    brochure* bail devis contrat* rapport* fichier* notice page pages internet site sites web
    application passage article lettre courrier courriel mail note tableau code script
    """,
    information="""
    information* donnée données détail* réponse* précision* renseignement* indication* idée mention
    demande résumé aperçu exemple* explication* connaissance* requête
    """,
    advice="avis conseil conseils recommandation* consultation* diagnostic*",
    adviser="""
    médecin* docteur* pharmacien* avocat* notaire* juriste* professionnel* expert* spécialiste*
    autorité* police urgences support fabricant vendeur fournisseur conseiller* humain personne
    thérapeute* vétérinaire* financi*
    """,
    replace="remplace remplacent constitue constituent considéré considérée substitue doit doivent",
    machine="ia intelligence artificielle assistant modèle langage langue chatbot programme",
    consult="""
    consult* contact* appel* demand* parl* adress* vérifi* visit* regard* référ* voir voyez
    """,
    pointer="ceci cela ça ce c ci cette cet ces ceux en là dessus voici y le plus autre chose",
    here="voici voilà",
    condition="si lorsque",
    courtesy="""
    malheureusement désolé désolée hélas heureux heureuse ravi ravie volontiers honnêtement
    """,
    flaw="obsolète* incomplète* inexacte* erronée* tromper erreurs jour",
    small="""
    un une des de d à au aux en dans sur pour par avec et ou ni ne n que qu très bien aussi encore
    plus moins même tout toute bref brève court courte personnelle* personnel* précis* sujet propos
    fiable* spécifique* particulier* actuel* autre autres tant qu et vraiment donc non exactement
    bref concernant veuillez merci selon basé base prière comme malheureusement mais
    """,
    attributes="""
    adresse âge auteur but cause coût couleur date délai durée hauteur lieu montant nom nombre poids
    prix raison sujet taille tarif titre valeur année
    """,
    referral=r"""
    pour (?:plus|davantage|obtenir|de plus|des|toute question) {rest}
    """,
    greeting="""
    bonjour bonsoir salut coucou bienvenue adieu revoir merci prie enchanté enchantée espère hésite
    hésitez cordialement félicitations bientôt problème souci compris noté entendu dites faites
    laissez permettez rencontrer connaissance ah oh plaît plaisir disposition reste
    """,
    praise="bon bonne excellent* belle beau intéressant* super très beaucoup bien bonnes",
    wish="""
    journée soirée nuit continuation chance courage voyage appétit lecture route weekend semaine
    vacances plaisir
    """,
    apology="""
    désolé désolée excuse* excusez regrette malheureusement pardon remarque avertissement hélas
    """,
    assumes="parce puisque qui",
    polite=r"""
    de rien|(?:comment )?ça va(?: bien)?|à (?:bientôt|plus tard|demain)|bien sûr
    | pas de (?:souci|problème)
    """,
    no="aucun aucune",
    faculty="accès opinion* avis sentiment* expérience* souvenir* préférence* compétence* moyen*",
    deed="contrat* bail devis",
    unsaid="ouvert ouverte",
    joins="et mais donc ou",
    turns="mais parce puisque",
    learn="savoir connaître apprendre",
    purpose="avant pour si",
    which="que quel quelle quels quelles",
    handle="voir ouvrir accéder lire écrire envoyer consulter naviguer",
    never="jamais",
    heard="entendu",
    tour="jouer guider accompagner",
    given="fourni* fournis donnés joint* ci dessus officiel* ligne",
    theme="temps réel avenir personne sujet point points étape étapes rôle liste question*",
    within="dans selon sur par d après",
    role="tant comme",
    general="indicatif informatif général*",
    silence=r"inconnue?|non (?:précisée?|mentionnée?|indiquée?|disponible)",
    definites="le la les l du au aux",
    others="pourquoi son sa ses leur leurs lui dont elle elles",
    interrogatives="qui quand où combien comment quel quelle quels quelles",
    claims="""
    qui que qu'il qu'elle dont car parce est sont était étaient fut a ont été né née mort mais
    cependant lequel laquelle puisque
    """,
)

SPANISH: Final = Phrases(
    speaker="""
    yo puedo podría debo quiero sé conozco tengo dispongo encuentro encontré recuerdo entiendo soy
    estoy he cuento ignoro desconozco logro consigo haré prefiero explico voy explicaré
    """,
    me="me mi mis mí nos nuestro",
    you="""
    tú tu tus te ti usted ustedes le les su sus os puedes quieres necesitas deseas tienes refieres
    refiere sabes sabe eres estás prefieres prefiere buscas busca buscan
    """,
    negation="no ni tampoco imposible difícil ignoro desconozco",
    nothing="nada",
    able="""
    puedo podría debo quiero capaz posible autorizado autorizada cualificado cualificada condiciones
    consigo logro haré puede prefiero explico explicaré voy
    """,
    be="soy estoy es está son ser",
    have="tengo dispongo cuento encuentro encontré encontrado hallado tiene he",
    possible="posible imposible difícil",
    know="""
    sé conozco recuerdo entiendo seguro segura encuentro encontré encontrado ignoro desconozco
    familiarizado consta buscado leído revisado
    """,
    act="""
    decir dar ofrecer proporcionar facilitar compartir comentar hablar especular garantizar predecir
    diagnosticar evaluar juzgar determinar identificar encontrar verificar confirmar recomendar
    aconsejar responder contestar ayudar saber revelar decirte darte ayudarte ayudarle responderte
    darle decirle precisar asesorar recomiendo aconsejo sugiero
    """,
    serve="""
    ayudar explicar responder resumir detallar aclarar profundizar ampliar describir ayudarte
    ayudarle explicarte explicarle responderte contarte guiarte mostrarte darte ayude útil sirva
    explico explicaré
    """,
    say="""
    dice dicen menciona mencionan especifica especifican indica indican habla hablan explica
    explican recoge recogen precisa precisan aclara aclaran responde detalla deja dejan
    """,
    contain="""
    contiene contienen incluye incluyen proporciona proporcionan ofrece ofrecen da dan aporta
    aportan
    """,
    stated="""
    mencionado mencionada mencionados mencionadas indicado indicada indicados indicadas especificado
    especificada descrito descrita menciona mencionan indica especifica
    """,
    held="aparece aparecen figura figuran consta encuentra disponible recogido recogida",
    exist="hay existe aparece figura consta encuentra",
    document="""
    documento* contexto texto textos fuente* manual guía extracto* documentación contrato* informe*
    archivo* folleto* página* internet web sitio pasaje artículo* póliza carta correo nota tabla
    código
    """,
    information="""
    información dato datos detalle* idea respuesta* respecto mención resumen ejemplo* conocimiento*
    explicación petición solicitud
    """,
    advice="asesoramiento asesoría consejo* recomendación consulta opinión diagnóstico*",
    adviser="""
    médico médica médicos doctor* farmacéutic* abogado abogada abogados profesional* notario expert*
    especialista* autoridad* policía emergencias cliente soporte fabricante vendedor proveedor
    asesor* humano humana persona financier* consultor*
    """,
    replace="""
    constituye constituyen sustituye sustituyen reemplaza reemplazan considerarse tomarse debe deben
    """,
    machine="ia inteligencia artificial modelo lenguaje asistente chatbot programa",
    consult="""
    consult* llam* contact* pregunt* acud* visit* revis* verific* comprueb* busc* habla hable hablar
    """,
    pointer="esto eso ello este esta ese esa estos estas aquí ahí lo algo más otro otra al",
    here="aquí",
    condition="si cuando",
    courtesy="lamentablemente desafortunadamente gusto encantado encantada favor claro verdad",
    flaw="desactualizad* incomplet* inexact* obsolet* equivocarme errores",
    small="""
    un una unos unas de del a al en con por para sobre acerca y o e u ni se muy también aún ya solo
    legal legales médico médica personal personales breve específica específico suficiente tan como
    cómo cualquier mucho mucha realmente acuerdo verdad es que fiable ahora según basado base
    lamentablemente desafortunadamente pero lo continuación paso detalle
    """,
    attributes="""
    altura año autor cantidad causa color coste costo dirección duración edad fecha importe lugar
    motivo nombre número peso plazo precio razón tamaño tema título valor
    """,
    referral=r"""
    para (?:más|mayor|obtener|información) {rest}
    """,
    greeting="""
    hola bienvenid* saludos adiós cuídate gracias espero felicidades atentamente saludo dudes dude
    avísame dime entendido problema diviertas hazme déjame permíteme avíseme placer luego pronto
    acuerdo conocerte favor gusto tengas tenga disposición
    """,
    praise="""
    buen buena excelente gran interesante bonito muchas muchísimas mucha mucho cordial bien buenas
    buenos
    """,
    wish="día días tarde tardes noche noches suerte viaje provecho fin semana gusto placer",
    apology="siento lamento disculp* perdón perdona lamentablemente desafortunadamente nota aviso",
    assumes="porque",
    polite=r"""
    de nada|no hay de qué|hasta (?:la vista|mañana)|nos vemos|no hay problema|bueno|claro|bien
    | (?:eso )?depende
    """,
    no="ninguna ninguno ningún ni",
    faculty="""
    acceso opinión opiniones preferencia* sentimiento* experiencia* recuerdo* capacidad* manera
    forma
    """,
    deed="contrato* póliza",
    unsaid="abierto abierta",
    joins="y pero e o",
    turns="pero porque aunque",
    learn="saber conocer",
    purpose="antes para si",
    which="qué cuál cuáles",
    handle="ver abrir acceder leer escribir enviar buscar",
    never="nunca jamás",
    heard="oído",
    tour="papel haré",
    given="presente proporcionad* dado facilitad* adjunt* suministrad* oficial* línea red",
    theme="""
    tema asunto punto punto* paso paso* papel salud tiempo real futuro lista persona pregunta*
    """,
    within="en según por",
    role="como",
    general="orientativ* general* fines",
    silence=r"desconocid[oa]",
    definites="el la los las del al",
    others="porqué su sus él ella ellos ellas cuyo cuya",
    interrogatives="quien quién qué cuál cuándo cuándo dónde cuánto cómo",
    claims="""
    que quien quienes porque pues es son era eran fue fueron ha han nació murió ganó pero aunque
    está están
    """,
)

ITALIAN: Final = Phrases(
    speaker="""
    io posso potrei devo voglio so conosco ho dispongo trovo ricordo capisco sono riesco saprei
    ignoro farò preferisco spiego
    """,
    me="mi me mio mia miei mie ci nostro",
    you="""
    tu ti te tuo tua tuoi tue lei le la suo voi vi vostro vostra puoi vuoi hai desideri può intendi
    intende riferisci sai preferisci preferisce cerchi cerca
    """,
    negation="non né impossibile difficile ignoro",
    nothing="niente nulla",
    able="""
    posso potrei devo voglio grado riesco capace autorizzato autorizzata possibile farò può permette
    preferisco spiego
    """,
    be="sono è essere essendo sia abbia siano abbiano",
    have="ho dispongo trovo trovato ha hanno possiedo",
    possible="possibile impossibile difficile",
    know="""
    so saprei conosco ricordo capisco sicuro sicura certo certa trovato ignoro trovo cercato letto
    consultato
    """,
    act="""
    dire dare fornire offrire condividere commentare parlare speculare garantire prevedere
    diagnosticare valutare giudicare determinare stabilire identificare trovare verificare
    confermare consigliare raccomandare rispondere aiutare aiutarti aiutarla risponderti dirti darti
    sapere esprimere rivelare dirle suggerisco raccomando consiglio
    """,
    serve="""
    aiutare aiutarti aiutarla spiegare spiegarti rispondere riassumere dettagliare chiarire
    approfondire descrivere guidarti aiuti utile spiego
    """,
    say="""
    dice dicono menziona menzionano specifica specificano indica indicano parla parlano spiega
    spiegano riporta riportano precisa precisano risponde chiarisce lascia lasciano
    """,
    contain="contiene contengono fornisce forniscono dà danno offre offrono include riporta",
    stated="""
    indicato indicata indicati indicate riportato riportata menzionato menzionata menzionati
    menzionate specificato specificata descritto descritta
    """,
    held="compare risulta figura presente disponibile trova",
    exist="c ci compare figura trova risulta",
    document="""
    documento documenti contesto testo testi fonte fonti manuale guida documentazione contratto
    rapporto file estratto estratti opuscolo brochure pagina pagine sito internet web brano articolo
    polizza lettera mail nota tabella email codice
    """,
    information="""
    informazion* dato dati dettagli* idea risposta risposte menzione riassunto riepilogo panoramica
    esempio esempi conoscenz* spiegazion* richiesta
    """,
    advice="consiglio consigli consulenza parere raccomandazione diagnosi visita",
    adviser="""
    medico medici dottore dottoressa farmacista avvocato avvocati professionista professionisti
    esperto esperti specialista notaio autorità polizia emergenza assistenza supporto clienti
    produttore venditore fornitore umano persona consulente consulent* finanziar*
    """,
    replace="costituisce costituiscono sostituisce sostituiscono considerarsi deve devono",
    machine="ia intelligenza artificiale modello linguistico assistente chatbot programma",
    consult="""
    consult* chiam* contatt* chiedi chieda chiedere parla parli rivolg* visit* controll* verific*
    cerca cerchi leggi
    """,
    pointer="questo questa questi queste quello ciò ne lo qui là lì li tale qualcosa altro più",
    here="ecco",
    condition="se quando",
    courtesy="purtroppo spiacente felice lieto lieta volentieri certo",
    flaw="obsolet* incomplet* inesatt* aggiornat* sbagliare errori",
    small="""
    un una uno di del dello della dei degli a ad in con su per tra da e o né anche ancora solo molto
    breve personale personali legale legali medico medici specifiche specifica sufficienti
    affidabil* realmente come cosa qualche qualsiasi un' dell all proposito ora secondo base basato
    purtroppo ma passo essendo quanto nel nei nella nelle negli nell dal dai dalla sul prega
    consiglia
    """,
    attributes="""
    altezza anno autore causa colore costo data dimensione durata età importo indirizzo luogo motivo
    nome numero peso prezzo scadenza tema titolo valore
    """,
    referral=r"""
    per (?:maggiori|ulteriori|più|informazioni) {rest}
    """,
    greeting="""
    ciao salve benvenut* buongiorno buonasera buonanotte arrivederci grazie prego spero auguri
    saluti esitare figurati problema capito fammi faccia lasciami permettimi chiedi piacere dipende
    conoscerti presto favore accordo disposizione sapere
    """,
    praise="buon buona ottim* bell* interessante molte tante mille tanto molto cordiali bene",
    wish="""
    giornata serata notte fortuna viaggio appetito divertimento giorno weekend settimana piacere
    lavoro
    """,
    apology="spiacente scus* dispiace purtroppo nota avvertenza",
    assumes="perché",
    polite=r"""
    di (?:nulla|niente)|come (?:stai|sta|va)|a (?:dopo|domani)|va bene|bene|allora
    """,
    no="nessuna nessuno nessun alcuna alcun",
    faculty="accesso opinion* parere preferenz* sentiment* esperienz* ricord* capacità modo",
    deed="contratto polizza",
    unsaid="aperto aperta",
    joins="e ed ma quindi o",
    turns="ma perché sebbene",
    learn="sapere conoscere",
    purpose="prima per se",
    which="che cosa quale quali",
    handle="vedere aprire accedere leggere scrivere inviare cercare",
    never="mai",
    heard="sentito",
    tour="fare interpretare farò farti",
    given="forniti fornito fornita fornite allegato allegati allegata dati ufficial* online rete",
    theme="""
    tempo reale futuro persona punto punti passo passaggi ruolo lista argomento proposito merito
    riguardo domanda domande
    """,
    within="in nel nei nella nelle negli nell da dal dai dalla secondo su sul",
    role="essendo quanto come",
    general="indicativ* informativo general*",
    silence=r"sconosciut[oa]",
    definites="""
    dell all sull dall l il lo la i gli le del dellodella dei delle degli al alla agli alle
    """,
    others="perché suo sua suoi sue loro lui lei egli ella cui",
    interrogatives="chi cosa quale quando dove come quanto quanti",
    claims="che cui poiché è sono era erano fu furono ha hanno nato nata morto vinse ma però",
)

PORTUGUESE: Final = Phrases(
    speaker="""
    eu posso poderia devo quero sei conheço tenho disponho encontro encontrei lembro entendo sou
    estou consigo consegui pude desconheço ignoro farei apresento prefiro ouvi vou
    """,
    me="me mim meu minha meus minhas nos nosso",
    you="""
    você vocês te lhe ti tu teu tua seu sua seus suas quer quiser pode precisa deseja precisar tiver
    refere tens podes queres prefere procura
    """,
    negation="não nem impossível difícil desconheço ignoro",
    nothing="nada",
    able="""
    posso poderia devo quero capaz possível autorizado autorizada consigo consegui pude condições
    qualificado farei pode permite apresento faço prefiro vou
    """,
    be="sou estou é está são ser foi",
    have="tenho disponho encontro encontrei há tem ouvi",
    possible="possível impossível difícil",
    know="""
    sei conheço lembro entendo certo certa certeza encontro encontrei desconheço ignoro
    familiarizado entendi procurei li consultei
    """,
    act="""
    dizer dar fornecer oferecer compartilhar partilhar comentar falar especular garantir prever
    diagnosticar avaliar julgar determinar identificar encontrar verificar confirmar recomendar
    aconselhar responder ajudar saber revelar informar afirmar ajudá prestar saber recomendo sugiro
    aconselho
    """,
    serve="""
    ajudar explicar responder resumir detalhar esclarecer aprofundar ampliar descrever ajudá
    apresento mostrar ajude útil ajudado
    """,
    say="""
    diz dizem menciona mencionam especifica especificam indica indicam fala falam informa informam
    explica explicam responde respondem aborda abordam esclarece deixa deixam
    """,
    contain="""
    contém contêm contem inclui incluem fornece fornecem oferece traz trazem dá dão apresenta
    """,
    stated="""
    mencionado mencionada mencionados mencionadas indicado indicada indicados especificado
    especificada descrito descrita informado informada
    """,
    held="aparece consta figura disponível presente",
    exist="há existe consta aparece figura",
    document="""
    documento* contexto texto textos fonte* manual guia documentação contrato* relatório* arquivo*
    ficheiro* trecho* folheto* página* internet web site sites passagem artigo* apólice carta e-mail
    email nota tabela código
    """,
    information="""
    informaç* dado dados detalhe* ideia resposta* menção dúvida* resumo exemplo* conhecimento*
    explicação certeza pedido
    """,
    advice="""
    aconselhamento conselho* recomendação consulta opinião diagnóstico* orientação consultoria
    """,
    adviser="""
    médico médica médicos doutor doutora farmacêutic* advogado advogada advogados profissional
    profissionais especialista* autoridade* polícia emergência* atendimento suporte fabricante
    vendedor fornecedor equipe humano humana pessoa consultor* financeir* assessor*
    """,
    replace="constitui constituem substitui substituem considerado considerada deve devem",
    machine="ia inteligência artificial modelo linguagem assistente chatbot programa",
    consult="""
    consult* procur* contat* contact* ligue ligar pergunte perguntar fale falar visit* verifi* veja
    ver leia acesse
    """,
    pointer="isto isso este esta esse essa aqui aí ali algo mais outra outro o estas estes",
    here="aqui seguir",
    condition="se quando caso",
    courtesy="infelizmente desculpe feliz favor prazer claro lamento",
    flaw="desatualizad* incomplet* incorret* atualizad* enganado erros errar",
    small="""
    um uma uns umas de do da dos das a ao à às em no na nos nas com por para pela pelo sobre e ou
    nem também ainda só muito breve específica específicas específico suficientes suficiente pessoal
    pessoais jurídico médico qualquer alguma algum realmente exato tão agora confiáveis segundo base
    conforme infelizmente mas como passo ter
    """,
    attributes="""
    altura ano autor causa cor custo data duração endereço idade local motivo nome número peso prazo
    preço razão tamanho tema título valor
    """,
    referral=r"""
    para (?:mais|maiores|obter|informações) {rest}
    """,
    greeting="""
    olá oi bem-vind* saudações adeus tchau obrigad* disponha espero parabéns atenciosamente hesite
    avise diga problema entendi entendido deixe avisar prazer depende combinado logo breve conhecê
    favor disposição
    """,
    praise="bom boa ótim* excelente interessante muito grande bons boas bem",
    wish="dia tarde noite sorte viagem apetite fim semana",
    apology="sinto lamento desculp* perdão infelizmente nota aviso",
    assumes="porque",
    polite=r"""
    de nada|por nada|tudo bem|claro|bem|até (?:mais|amanhã)|com certeza|a seguir
    """,
    no="nenhum nenhuma",
    faculty="""
    acesso opinião opiniões preferência* sentimento* experiência* lembrança* capacidade* como
    """,
    deed="contrato* apólice",
    unsaid="aberto aberta",
    joins="e mas ou",
    turns="mas porque embora",
    learn="saber conhecer",
    purpose="antes para se",
    which="que qual quais o",
    handle="ver abrir acessar aceder ler escrever enviar buscar",
    never="nunca jamais",
    heard="ouvi ouvido",
    tour="fazer farei interpretar",
    given="fornecid* anexad* dados enviad* oficia* online rede",
    theme="""
    tempo real futuro pessoa ponto pontos passo passos papel tema coisa assunto lista pergunta*
    respeito
    """,
    within="em no na nos nas segundo conforme por pelo pela",
    role="como",
    general="gerais geral fins",
    silence=r"desconhecid[oa]",
    definites="o a os as do da dos das no na nos nas ao à aos às",
    others="porquê seu sua seus suas dele dela deles delas ele ela eles elas cujo cuja",
    interrogatives="quem qual quais quando onde como quanto",
    claims="que porque pois é são era eram foi foram tem têm nasceu morreu ganhou mas porém está",
)

POLISH: Final = Phrases(
    polite=r"""
    (?:cześć|hej|witaj(?:cie)?|dzień dobry|dobry wieczór|dobranoc|na razie)
    | do (?:widzenia|zobaczenia|usłyszenia)
    | (?:bardzo |serdecznie )?dziękuję(?: (?:bardzo|za {rest}))?|dzięki|proszę(?: bardzo)?
    | nie ma (?:za co|sprawy|problemu)|(?:to )?(?:bardzo )?(?:dobre|świetne|ciekawe) pytanie
    | mam nadzieję|(?:mam nadzieję )?że (?:to )?(?:ci |panu |pani )?(?:pomogłem|pomogłam|pomogło
      |pomoże)(?: {rest})?
    | (?:w czym|jak) mogę (?:ci |panu |pani )?pomóc(?: {rest})?|chętnie pomogę
    | (?:daj|proszę dać)(?: mi)? znać(?: {rest})?|w razie (?:dalszych )?pytań(?: {rest})?
    | (?:jeśli|jeżeli) (?:masz|ma pan|ma pani|macie|potrzebujesz|chcesz|będziesz) {rest}
    | (?:pytaj|śmiało)(?: {rest})?|(?:miłego|udanego) (?:dnia|wieczoru)|pozdrawiam|powodzenia
    """,
    disclaimer=r"""
    niestety|przykro mi|przepraszam(?: (?:bardzo|za {rest}))?
    | jako (?:ai|sztuczna inteligencja|(?:duży )?model językowy)
    | proszę (?:podać|sprecyzować|doprecyzować) {rest}
    """,
    refusal=r"""
    (?:(?:tego|niestety|ja|naprawdę|o tym) )*nie (?:wiem|znam|mam|mogę|jestem (?:w stanie|pewien
      |pewna)|potrafię|posiadam|pamiętam|rozumiem|dysponuję|znalazł[ae]m|udało mi się|będę w stanie)
      (?: {rest})?
    | (?:w )?(?:(?:tych|tym|podan\w+|dostarczon\w+) )*(?:dokumen\w+|konte\w+|tekst\w*|tekś\w+
      |źród\w+|materiał\w*|podręcznik\w*|instrukcj\w+) (?:(?:nic|o tym|tego) )*nie (?:ma|mówi\w*
      |wspomin\w+|zawier\w+|poda\w+|określ\w+|znajduje się|znalazł\w+)(?: {rest})?
    | (?:brak|nie ma) (?:informacji|danych|wzmianki|mowy)(?: {rest})?
    """,
    question=r"""
    (?:czy|o co|o jak\w+|o któr\w+|jak\w*|któr\w+|co) (?:\S+ ){0,5}(?:pan|pani|panu|ci|mam|mogę|masz
      |może|możesz|mógłbyś|mogłabyś|chcesz|chodzi|pytasz|potrzebujesz)\b
    """,
    claims="""
    że który która które gdzie bo ponieważ jest są był była było były ma urodził zmarł ale jednak
    """,
)

RUSSIAN: Final = Phrases(
    polite=r"""
    привет(?:ствую)?|здравствуй(?:те)?|доброе утро|добрый (?:день|вечер)|доброй ночи
    | до (?:свидания|встречи|скорого)|пока
    | (?:большое |огромное )?спасибо(?: (?:большое|за {rest}))?|благодарю(?: (?:вас|за {rest}))?
    | пожалуйста|не за что|рада? (?:(?:был[аи]? )?помочь|вас видеть)
    | (?:это )?(?:отличный|хороший|интересный|прекрасный) вопрос
    | (?:я )?надеюсь|(?:это|ответ) (?:вам |тебе )?(?:поможет|помогло|помог|был[оа]? полез(?:но|ен))
    | если (?:у (?:вас|тебя) )?(?:есть|будут|остались|появятся|возникнут|нужн[аы]|хотите) {rest}
    | (?:обращайтесь|обращайся|спрашивайте|спрашивай|дайте знать|дай знать|пишите)(?: {rest})?
    | (?:чем|как) (?:я )?могу (?:вам |тебе )?(?:помочь|быть полезен)(?: {rest})?
    | (?:хорошего|приятного|удачного) (?:дня|вечера)|всего (?:доброго|хорошего)|с уважением|удачи
    | (?:чем )?(?:могу ли я |ещё )*(?:могу )?(?:ещё )?(?:(?:чем-нибудь|чем-то) )?(?:вам )?помочь
    """,
    disclaimer=r"""
    к сожалению|увы|извини(?:те)?|прости(?:те)?|прошу прощения|мне (?:очень )?жаль|сожалею
    | (?:как|я) (?:всего лишь )?(?:ии|ии-ассистент|искусственный интеллект
      |(?:большая )?языковая модель)
    | (?:уточните|поясните|предоставьте) {rest}
    """,
    refusal=r"""
    (?:(?:я|этого|это|точно|честно говоря) )*не (?:знаю|помню|уверена?|понимаю|располагаю|владею
      |обладаю|имею|могу|смогу|способна?|буду|наш[её]л|нашла|вправе|в состоянии|в курсе)(?: {rest})?
    | у меня (?:\S+ )?нет(?: {rest})?|(?:мне (?:это )?|это мне )не ?известно
    | понятия не имею|(?:мне )?не удалось (?:найти|установить|определить)(?: {rest})?
    | (?:в )?(?:(?:этих|этом|данн\w+|предоставленн\w+|привед[её]нн\w+) )*(?:документ\w*|контекст\w*
      |текст\w*|источник\w*|материал\w*|руководств\w*|отрывк\w*|инструкци\w*) (?:(?:об этом|про это
      |ничего|этого) )*(?:нет|не (?:говор\w+|сказан\w*|указ\w+|упом\w+|содерж\w+|описан\w*|привед\w+
      |сообща\w+))(?: {rest})?
    | (?:\S+ ){1,6}не (?:упом\w+|указ\w+|описан\w*|содерж\w+) в (?:\S+ ){0,2}(?:документ\w*
      |контекст\w*|текст\w*|источник\w*|материал\w*|руководств\w*)
    | (?:в )?(?:документ\w*|контекст\w*|текст\w*|источник\w*|материал\w*|руководств\w*) (?:это
      |этот \S+|эта \S+|он\w?) не (?:указ\w+|упом\w+|описан\w*|сказан\w*)
    """,
    question=r"""
    (?:не )?(?:могли бы|можете|можешь|хотите|хочешь|имеете|имеешь) (?:вы|ты|ли|в виду|\S+)\b
    | (?:вы|ты) (?:имеете|имеешь|хотите|хочешь|про|о|об) \S
    | (?:о |про )?(?:как\w+|что|ч[её]м|где|когда|кого) (?:\S+ ){0,4}(?:вы|вас|вам|ты|тебя|тебе|мне
      |я)\b
    """,
    claims="""
    что который которая которое которые где потому так был была было были есть родился родилась умер
    умерла но однако поскольку
    """,
    letters="А-Яа-яЁё",
)

TURKISH: Final = Phrases(
    polite=r"""
    merhaba(?:lar)?|selam(?:lar)?|günaydın|iyi (?:günler|akşamlar|geceler)|hoş geldin(?:iz)?
    | hoşça kal(?:ın)?|görüşürüz|(?:(?:\S+ ){0,3}için |çok )?teşekkür(?:ler| eder(?:im|iz))
    | rica ederim|bir şey değil|(?:bu )?(?:çok )?(?:güzel|iyi|harika) (?:bir )?soru
    | umarım (?:\S+ ){0,3}(?:olur|olmuştur|olmuşumdur)
    | (?:başka )?(?:bir )?(?:sorun|sorunuz|sorularınız|soruların) (?:varsa|olursa)(?: {rest})?
    | (?:(?:size|sana|bugün|başka) )*nasıl yardımcı olabilirim(?: \S+)?
    | (?:lütfen )?sormaktan çekinme\w*|kolay gelsin|saygılarımla|iyi şanslar
    | (?:başka )?(?:bir )?(?:\S+ )?(?:konuda )?yardımcı olabilir miyim
    """,
    disclaimer=r"""
    (?:çok )?(?:üzgünüm|özür dilerim)|kusura bakma(?:yın)?|affedersin(?:iz)?|maalesef
    | ne yazık ki|bir (?:yapay zeka|dil)(?: \S+)?(?: olarak)
    """,
    refusal=r"""
    (?:\S+ ){0,7}(?:bilmiyorum|bilemiyorum|emin değilim|yardımcı olam(?:am|ıyorum)|yardım edemem
      |(?:cevap|yanıt|bilgi) verem(?:em|iyorum)|(?:yanıt|cevap)layamam|bulamadım|bulamıyorum
      |sağlayamam|(?:erişimim|bilgim|fikrim) yok|bilgiye sahip değilim|bilgi (?:bulunmuyor
      |bulunmamaktadır|yok))
    | (?:\S+ ){0,4}(?:belge\w*|doküman\w*|metin\w*|metn\w+|bağlam\w*|kaynak\w*
      |kılavuz\w*) (?:\S+ ){0,4}(?:bulunmuyor|bulunmamaktadır|belirtilme\w+|yer alm[ıa]\w+|geçmiyor
      |içerm\w+|bahse\w*m[ei]\w+|söylemiyor)
    """,
    question=r"""
    (?:\S+ ){0,7}(?:m[iıuü]s[iıuü]n(?:[iıuü]z)?|istiyorsun(?:uz)?|istersiniz|kastediyorsun(?:uz)?
      |söylüyorsun(?:uz)?)\Z
    """,
    claims="çünkü ama fakat ancak olan olarak doğdu öldü",
)

ARABIC: Final = Phrases(
    polite=r"""
    (?:مرحبا|مرحبًا|مرحباً|أهلا|أهلًا|أهلاً)(?: (?:بك|وسهلا|وسهلًا|وسهلاً))?
      |(?:و?عليكم )?السلام(?: عليكم)?
    | صباح (?:الخير|النور)|مساء (?:الخير|النور)|مع السلامة|إلى اللقاء|على الرحب والسعة
    | (?:شكرا|شكرًا|شكراً)(?: (?:لك|جزيلا|جزيلًا|جزيلاً|على {rest}))?|عفوا|عفوًا|عفواً|بالتوفيق
    | (?:هذا )?سؤال (?:جيد|رائع|ممتاز)|(?:آمل|أتمنى|أرجو) أن (?:يكون|تكون|يساعد|يفيد)\w*(?: {rest})?
    | (?:كيف|بماذا|بم) (?:يمكنني|أستطيع) (?:أن )?(?:مساعدتك|أساعدك)(?: {rest})?|لا تتردد في {rest}
    | إذا (?:كان|كانت|كنت|احتجت|أردت) (?:لديك |بحاجة )?{rest}|أخبرني {rest}|يسعدني (?:أن )?مساعدتك
    | هل (?:تحتاج|تريد|يمكنني|أستطيع) (?:إلى )?(?:مساعد\w+|أي \w+|أن أساعدك)(?: {rest})?
    """,
    disclaimer=r"""
    (?:أنا )?(?:آسف|آسفة|أعتذر|عذرا|عذرًا|عذراً|المعذرة)(?: (?:جدا|جدًا|عن {rest}))?|للأسف|مع الأسف
    | (?:بصفتي|كوني|باعتباري) (?:نموذج\w*|ذكاء\w*|مساعد\w*)(?: \S+){0,3}
    """,
    refusal=r"""
    (?:(?:لكن|ولكن|لكنني|ولكنني|لكني|أنا|للأسف|آسف) )*(?:لا (?:أعرف|أعلم|أدري|أملك|أستطيع|يمكنني
      |أمتلك|أقدر|أجد|(?:تتوفر|تتوافر|توجد|يوجد) لدي)|لم (?:أجد|أتمكن|أعثر|أستطع)|ليس(?:ت)? (?:لدي
      |عندي)|لن (?:أتمكن|أستطيع)|لست (?:متأكد|قادر|على)\S*)(?: {rest})?
    | (?:لا|لم) (?:يذكر|تذكر|يرد|ترد|يوجد|توجد|تحتوي|يحتوي|تتضمن|يتضمن|تشير|يشير) (?:\S+ ){0,5}
      (?:المستندات|المستند|الوثائق|الوثيقة|النص|النصوص|السياق|المصادر|المصدر|الدليل)(?: {rest})?
    | (?:المستندات|المستند|الوثائق|الوثيقة|النص|النصوص|السياق|المصادر|المصدر|الدليل) (?:\S+ )?(?:لا
      |لم) (?:يذكر|تذكر|تحتوي|يحتوي|تتضمن|يتضمن|تشير|يشير|يوضح|توضح)(?: {rest})?
    | لا توجد (?:أي )?معلومات(?: {rest})?
    """,
    question=r"""
    (?:هل|ما|ماذا|أي|عن أي|كيف) (?:\S+ ){0,5}(?:تقصد|تقصده|تريد|تريده|تعني|تود|يمكنك|تبحث|تتحدث)
      (?: \S+){0,6}\Z
    """,
    claims="الذي التي الذين لأن حيث كان كانت هو هي ولد توفي",
    letters="\u0621-\u064a",
)

HINDI: Final = Phrases(
    polite=r"""
    नमस्ते|नमस्कार|हैलो|सुप्रभात|शुभ (?:रात्रि|संध्या|प्रभात)|अलविदा|फिर मिलेंगे
    | (?:(?:बहुत|आपका) )*(?:धन्यवाद|शुक्रिया)|(?:आपका )?स्वागत(?: है)?|शुभकामनाएँ|शुभकामनाएं
    | (?:यह )?(?:एक )?(?:बहुत )?(?:अच्छा|बढ़िया|शानदार) (?:सवाल|प्रश्न)(?: है)?
    | (?:मुझे )?(?:आशा|उम्मीद) है(?: कि (?:यह|इससे|आपको) {rest})?
    | (?:मैं )?आपकी (?:\S+ ){0,3}(?:मदद|सहायता) (?:\S+ ){0,2}कर सकत[ाी] (?:हूँ|हूं)
    | (?:यदि|अगर) (?:आपके|आपको|आप) {rest}
    | (?:(?:बेझिझक|कृपया|तो|मुझे) )*(?:पूछें|पूछिए|बताएं|बताएँ|बताइए)
    | (?:क्या )?मैं आपकी (?:\S+ ){0,4}(?:मदद|सहायता) (?:\S+ ){0,2}सकत[ाी] (?:हूँ|हूं)
    """,
    disclaimer=r"""
    (?:मुझे )?(?:क्षमा कर(?:ें|ना)|माफ़? (?:करें|कीजिए|करना)|खेद है|अफ़?सोस है)|दुर्भाग्य से
      |दुर्भाग्यवश
    | एक (?:एआई|ai)(?: \S+){0,4} (?:के रूप में|होने के नाते)
    """,
    refusal=r"""
    (?:(?:मुझे|मैं|मेरे|इस|इसकी|इसके|यह) (?:\S+ ){0,7})?(?:नहीं (?:पता|मालूम|जानत[ाी])|पता नहीं
      |(?:जानकारी|सूचना|डेटा) (?:उपलब्ध )?नहीं|नहीं (?:कर|दे|बता) सकत[ाी]|असमर्थ)(?: (?:है|हूँ|हूं
      |मिली))?
    | (?:\S+ ){0,5}(?:दस्तावेज़?\S*|संदर्भ|पाठ|स्रोत\S*) (?:में|से) (?:\S+ ){0,6}नहीं(?: \S+){0,4}
    """,
    question=r"""
    (?:क्या )?(?:आप|आपको|आपका) \S|(?:कौन|किस)\S* (?:\S+ ){0,4}(?:आप|आपको|आपका) \S
    """,
    claims="जो जिसने जिसका क्योंकि था थी थे लेकिन परंतु जबकि",
    letters="\u0900-\u0963",
)

JAPANESE: Final = Phrases(
    polite=r"""
    こんにちは|こんばんは|おはよう(?:ございます)?|はじめまして|ようこそ|さようなら|お疲れ(?:様
      |さま)です
    | \S{0,8}?(?:ご|お)(?:質問|問い合わせ|連絡|利用|知らせ|返信|礼)?\S{0,6}
      (?:ありがとう(?:ござい(?:ます|ました))?)
    | (?:どうも)?ありがとう(?:ござい(?:ます|ました))?|どういたしまして
    | (?:(?:少し|これ|この回答|以上)\S{0,3})?(?:お役に立て|参考になれ|お力になれ)(?:れば|ば|て|たら
      |ましたら)(?:幸い|嬉しい|うれしい)です|(?:とても)?(?:いい|良い|よい|素晴らしい)
      (?:ご)?質問です(?:ね)?
    | (?:(?:また|もし|ほか|他|何か|さらに|その他|に|も|、)*(?:ご|お)?(?:質問|不明な?点|要望
      |知りたいこと|困りのこと|手伝いできること|必要なこと)?(?:など)?(?:が|は)?(?:ございましたら
      |ありましたら|あれば))?(?:(?:いつでも|お気軽に|ご?遠慮なく|ぜひ|また))*(?:(?:お|ご)(?:知らせ
      |尋ね|聞き|聞かせ|申し付け|質問|問い合わせ|相談|連絡|声がけ|声かけ)|聞いて|言って|質問して)?
      (?:ください(?:ませ|ね)?|どうぞ)?
    | (?:本日は|今日は|他に|何を|何か|どのように|どういった(?:ことを|ご用件で))*(?:お手伝い|お役に
      |お力に)(?:いたし|し|立てること|できること|なれること|なれ)\S{0,8}(?:か)
    | (?:良い|よい|素敵な)(?:一日|週末)を(?:お過ごしください)?|お大事に|頑張ってください
      |よろしくお願い(?:いた)?します
    | 以上|(?:ご)?参考になれば幸いです
    """,
    disclaimer=r"""
    (?:大変|誠に)?(?:申し訳(?:あり|ござい)ません|すみません|ごめんなさい|恐れ入ります)(?:が|けど)?
      |残念ながら|あいにく
    | (?:私は)?(?:ai|人工知能|大規模言語モデル|言語モデル|aiアシスタント)(?:です|なので|として
      |のため|ですので|である\S{0,3})
    """,
    refusal=r"""
    (?:\S{1,24}(?:は|には|が|を|も|について|に関して|から)|よく|詳しく|はっきりとは)?(?:わかり
      |分かり|解り|知り|存じ|存じ上げ|お答えでき|お答えいたし|答えられ|お答えすることはでき|お答えし
      |お手伝いでき|お手伝いすることはでき|お力になれ|お力にはなれ|対応でき|対応し|提供でき
      |ご提供でき|提供することはでき|見つかり|見つけられ|把握してい|把握しており|確認でき|お伝えでき
      |回答でき|回答し|判断でき|ご案内でき)(?:ません(?:でした)?|かねます)
    | \S{0,24}(?:情報|記載|記録|データ|知識|記述|言及)(?:は|が|を|も)?(?:一切|特に|現在)?(?:あり
      |ござい|見つかり|見当たり|持って(?:い|おり)|持ち合わせて(?:い|おり)|含まれて(?:い
      |おり))ません(?:でした)?
    | \S{0,24}(?:資料|文書|文章|コンテキスト|文脈|ドキュメント|テキスト|本文|マニュアル|記事
      |取扱説明書)(?:の中)?(?:に|には|では|から|からは|は|の)\S{0,24}(?:ません(?:でした)?|かねます)
    | \S{0,16}(?:お応え|お答え|応じること|回答)(?:は)?(?:でき|いたし)(?:ません|かねます)
    """,
    question=r"""
    \S{0,12}(?:どの|どちら|どれ|何|いつ|どんな|どういった|どのような)\S{0,16}(?:ですか|でしょうか
      |ますか|お探し\S{0,6})\Z
    | \S{0,24}(?:教えて|聞かせて|知らせて|説明して)\S{0,3}(?:いただけ|もらえ|くださ)\S{0,6}\Z
    """,
    claims="",
    letters="\u3040-\u30ff",
)

CHINESE: Final = Phrases(
    polite=r"""
    (?:你|您|大家)好(?:啊|呀)?|嗨|哈喽|(?:早上|上午|下午|晚上)好|早安|晚安|再见|拜拜|保重|加油
    | (?:非常|十分|多)?(?:谢谢|感谢)(?:您|你)?(?:的?(?:提问|问题|来信|耐心|理解|耐心等待|支持
      |咨询))?|不(?:客气|用谢)|没关系
    | 很高兴(?:能)?(?:为您服务|帮助您|帮助你|认识您|认识你|帮到您|帮到你|见到你|见到您)
    | (?:希望|但愿)(?:这些?|以上|上述|我的)?(?:信息|回答|内容|解释)?(?:能)?(?:对)?(?:您|你)?(?:有所
      |有|能)?(?:帮助|帮到您|帮到你|用)|(?:希望)?(?:能)?对(?:您|你)有(?:所)?帮助
    | (?:如果|如|若|要是)?(?:您|你)?(?:还)?有(?:任何|其他|别的|什么|更多|疑问|不明白)*(?:问题|疑问
      |需要|需求|的地方)?(?:的话)?
    | (?:请|欢迎)?(?:您|你)?(?:随时|尽管|再)(?:告诉|联系|问|咨询|提问|向|来)\S{0,6}
    | (?:这(?:真)?是(?:一)?个)?(?:非常|很)?好(?:的)?问题|祝(?:您|你)\S{1,8}
    | (?:请问)?(?:今天)?有什么(?:我)?(?:可以|能)(?:帮|为)\S{0,8}|(?:请问)?(?:我)?(?:怎么|如何)
      (?:可以|能|才能)?帮(?:您|你|助您|助你)\S{0,2}
    | (?:请问)?还(?:有什么|需要我)\S{0,10}(?:帮|做|了解)\S{0,6}
    """,
    disclaimer=r"""
    (?:很|非常|实在|十分|真)?(?:抱歉|对不起|不好意思|遗憾)|作为(?:一个|一名)?(?:ai|人工智能
      |大?型?语言模型)\S{0,6}
    | 根据\S{0,6}(?:资料|文档|文件|信息|内容|上下文|材料)|请(?:您|你)?(?:提供|补充|说明)\S{1,12}
    """,
    refusal=r"""
    (?:(?:但|但是|不过|所以|因此|这个?|对此|这方面|目前|恐怕|关于\S{1,12})*我|我们)(?:目前|暂时|真的
      |也|还|对此|并|恐怕|实在)*(?:不能|无法|没法|没办法|不会|不便|帮不了|帮不上|不知道|不清楚
      |不了解|不确定|不太清楚|未能|没能|没有?找到|没有?查到|找不到|查不到)\S{0,20}
    | (?:这个?|对此|关于\S{1,12})*(?:我|我们)?(?:目前|暂时|也|还|并)*(?:没有|缺乏)(?:任何|足够的?
      |相关的?|更多的?|这方面的?|具体的?|关于\S{1,12}的)*(?:信息|资料|数据|记录|答案|权限|办法|偏好
      |喜好|看法|感受)
    | (?:恐怕|暂时|目前|抱歉)?(?:无法|不能)(?:回答|提供|协助|帮助|确定|确认|查到|满足|处理|得知
      |判断)\S{0,12}
    | (?:真的|还)?不(?:知道|清楚|太清楚)(?:这一点|这个)?
    | \S{0,20}(?:资料|文档|文件|文中|文章|上下文|材料|手册|原文|文本|说明书|内容)(?:里|中|内|当中)?
      (?:并|都|也|均)?(?:(?:没有?|未|不)\S{0,3}(?:提到|提及|说明|包含|提供|记载|给出|涉及|指出|注明
      |写明|显示|说|讲)|(?:没有|无|未找到|找不到|查不到|没有?找到|看不出|无法)\S{0,14})\S{0,14}
    """,
    question=r"""
    (?:请问)?(?:您|你)(?:是|想|要|指|说|需要|能|可以|希望|打算|问)\S{0,18}|(?:请问|能否|能不能
      |可以)\S{0,22}
    | (?:哪|什么|多少)\S{0,4}(?:您|你)\S{0,10}
    """,
    claims="",
    letters="\u4e00-\u9fff",
)

KOREAN: Final = Phrases(
    polite=r"""
    안녕(?:하세요|하십니까|히 계세요|히 가세요)?|반갑습니다|(?:(?:정말|대단히|매우) )?(?:감사합니다
      |고맙습니다|감사해요)
    | (?:\S+ )?(?:\S+ )?주셔서 (?:감사합니다|고맙습니다)|천만에요|별말씀을요
    | (?:아주 |정말 )?좋은 질문(?:입니다|이에요|이네요)
    | (?:이 \S+ )?도움이 (?:되었기를|되기를|되셨기를|되었으면|되길) (?:바랍니다|좋겠습니다|합니다)
    | (?:(?:더|다른|추가|추가로|또|혹시) )*(?:궁금(?:한|하신) (?:점|것|내용)이|질문이|문의 사항이
      |필요(?:한|하신) (?:것|점)이)(?: 더)? ?있으시?면(?: (?:언제든지?|편하게|말씀해|알려|물어봐
      |문의해|질문해|주세요|주십시오)){0,5}
    | (?:(?:언제든지?|편하게) )*(?:말씀해|알려|물어봐|문의해|질문해) ?(?:주세요|주십시오)
    | (?:(?:무엇을|어떻게|오늘|뭘) )*도와 ?드릴까요|좋은 하루 (?:보내세요|되세요|보내시기 바랍니다)
    """,
    disclaimer=r"""
    (?:정말 |대단히 )?(?:죄송(?:하지만|합니다만|합니다|해요)|미안(?:합니다|하지만|해요))
      |유감스럽게도|안타깝게도|아쉽게도
    | (?:저는 )?(?:ai|인공지능|언어 모델)(?: (?:언어 모델|어시스턴트|모델))?(?:로서|이라서|이므로
      |입니다)?
    """,
    refusal=r"""
    (?:\S+ ){0,7}(?:(?:도와 ?드릴|도울|제공할|제공해 드릴|제공해 줄|답변할|답변해 드릴|답변드릴
      |대답할|답할|확인할|찾을|알려 ?드릴|말씀드릴|알) 수(?:는|가)? 없(?:습니다|어요|네요|었습니다)
      |(?:잘 )?모르겠(?:습니다|어요|네요)|모릅니다|몰라요)
    | (?:\S+ ){0,6}(?:정보|자료|데이터|기록|언급)(?:이|가|는|은|를|을)? (?:없(?:습니다|어요)
      |(?:가지고|갖고) 있지 않습니다|찾지 못했습니다)
    | (?:\S+ ){0,6}(?:문서|자료|문맥|본문|매뉴얼|설명서|컨텍스트|텍스트)(?:에|에는|에서
      |에서는) (?:\S+ ){0,5}(?:없|않|않았|못했)(?:습니다|어요|아요)
    """,
    question=r"""
    (?:\S+ ){0,4}(?:어떤|어느|무슨|무엇|언제|어디|더|자세히|구체적으로)(?: \S+){1,6}\Z
    """,
    claims="",
    letters="\uac00-\ud7a3",
)
