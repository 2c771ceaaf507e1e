"""Phrases for greetings, refusals and the like in Romance and other languages.

Each language has the fields of `Language`: polite phrases, excuses, refusals, referrals, the
beginnings of questions to the user, and words that claim something. A referral has six parts: words
before the verb, verbs of asking, people to ask, verbs of looking up, places to look, and others.
Polish, Russian, Turkish, Arabic, Hindi, Japanese, Chinese and Korean have the most common phrases
and no referrals. Japanese and Chinese have no spaces: their patterns limit the number of characters
where others have `{rest}`.
"""

FRENCH = (
    r"""
    (?:bonjour|bonsoir|salut|coucou|bienvenue)(?:\ (?:à\ tous|à\ vous))?|au\ revoir|adieu
    | bonne\ (?:nuit|journée|soirée|continuation)|à\ (?:bientôt|plus\ tard|demain)
    | merci(?:\ (?:beaucoup|bien|encore|à\ (?:vous|toi)))?
      (?:\ (?:de|pour)\ (?:demander|votre\ (?:question|message|patience)))?
    | de\ rien|je\ vous\ en\ prie|je\ t'en\ prie|avec\ plaisir|enchantée?
    | (?:comment\ )?ça\ va(?:\ (?:bien|toi))?|comment\ (?:allez-vous|vas-tu)
    | (?:ça|je)\ (?:va|vais)\ (?:très\ )?bien|et\ (?:vous|toi)
    | (?:comment|en\ quoi|que)\ puis-je\ (?:vous|t')?\ ?(?:aider|être\ utile|faire\ pour\ vous)
      (?:\ aujourd'hui)?
    | (?:n'hésitez\ pas\ à\ )?(?:me\ )?(?:demander|poser\ (?:vos|d'autres)\ questions)
    | n'hésite(?:z)?\ pas(?:\ .{1,50})?|(?:c'est\ )?(?:une\ )?(?:très\ )?(?:bonne
      |excellente)\ question
    | j'espère\ que\ (?:cela|ça|ceci)\ {rest}|bonne\ chance
    | dites-moi\ si\ (?:vous\ avez|tu\ as|besoin)\ .{1,40}
    | s'il\ vous\ plaît|pas\ de\ (?:problème|souci)|compris|(?:c'est\ )?(?:noté|entendu)
      |bon\ (?:point|voyage|appétit)
    | (?:tout\ |cela\ |ça\ )?dépend|est-ce\ (?:clair|que\ cela\ vous\ aide)|bonne\ (?:route|lecture)
    | (?:laissez-moi|laisse-moi|permettez-moi\ de)\ (?:\S+\ )?(?:expliquer|voir|réfléchir|vérifier
      |préciser)
      (?:\ {rest})?|je\ (?:peux|serais\ ravie?\ de|suis\ là\ pour)\ (?:vous\ |t')(?:aider|expliquer
      |donner|fournir)(?:\ {rest})?|si\ (?:vous|tu)\ (?:voulez|souhaitez|avez|as|veux
        |souhaites)\ {rest}
    | faites-moi\ savoir(?:\ {rest})?|cordialement|bien\ à\ (?:vous|toi)|avec\ plaisir|voilà|voici
    | (?:j'espère|ravie?|heureu(?:x|se))\ (?:de\ )?(?:vous|t')\ ?(?:avoir|aider|aidé
      |être)(?:\ {rest})?
    | je\ (?:reste|suis|demeure)\ (?:là|à\ votre\ (?:entière\ )?disposition|à\ ta\ disposition)
    | (?:très\ )?bonne\ (?:journée|soirée)(?:\ à\ (?:vous|toi))?|merci\ (?:de|pour)\ (?:votre
      |ta)\ {rest}
    | je\ suis\ (?:ravie?|heureu(?:x|se))\ de\ (?:vous|t')\ ?aider|bien\ sûr
    | y\ a-t-il\ (?:autre\ chose|quelque\ chose)\ {rest}|j'espère\ que\ (?:ma|cette|mon)\ (?:réponse
      |explication|aide)\ {rest}
    """,
    r"""
    remarque|avertissement
    | (?:ceci|cela|ce)\ (?:n'est\ pas|ne\ constitue\ pas)\ (?:une?\ )?(?:avis|conseil
      |recommandation)
      (?:\ \w+)?
    | (?:je\ suis\ )?(?:vraiment\ )?désolée?|excusez-moi|je\ m'excuse|malheureusement|je\ regrette
    | en\ tant\ qu'(?:ia|intelligence\ artificielle|assistant|modèle\ de\ langage)
    | (?:veuillez|merci\ de)\ (?:préciser|fournir|reformuler)(?:\ {rest})?
    | je\ (?:m'excuse|vous\ présente\ mes\ excuses)(?:\ pour\ {rest})?|toutes\ mes\ excuses
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
    | il\ n'y\ a\ (?:pas|aucune?|rien)\ ?(?:d'|de\ )?(?:informations?|mention|sur|à)(?:\ {rest})?
    | je\ ne\ (?:le\ )?(?:sais|comprends)\ pas(?:\ la\ réponse|\ la\ question|\ votre\ question)?
    | je\ ne\ (?:peux|puis)\ (?:pas|malheureusement\ pas)\ (?:vous\ |t'|y\ |le\ )?
      (?:aider|répondre|faire|fournir)(?:\ {rest})?
    | je\ n(?:e\ |')(?:\S+\ ){0,3}(?:pas|aucune?|jamais)(?:\ {rest})?|aucune\ idée
    | (?:c'est|cela|ceci)\ (?:dépasse|est\ (?:hors|en\ dehors)\ de|hors\ de)\ {rest}
    | cette\ information\ n'est\ pas\ {rest}
    | je\ (?:n'en\ sais\ rien|l'ignore)|il\ m'est\ (?:malheureusement\ )?impossible\ de\ {rest}
    | (?:rien|aucun)\ (?:dans|de|des)\ (?:les?|ces?|vos)?\ ?(?:documents?|textes?|contexte|extraits?
      |sources?)
      \ n(?:e\ |'en\ |')(?:le\ )?(?:parle|mentionne|dit|indique|précise|permet|répond)(?:\ {rest})?
    """,
    (
        r"""
        (?:il\ (?:est|serait|vaut)\ (?:\S+\ )?(?:conseillé|recommandé|préférable|mieux
          |important)(?:\ de)?)
        |je\ (?:vous\ |te\ )?(?:recommande|conseille|suggère)(?:\ de|\ d')?|veuillez|merci\ de
          |vous\ (?:pouvez
        |devriez|devez)|tu\ (?:peux|devrais)|n'hésitez\ pas\ à|pensez\ à|aussi|toujours
        """,
        r"""
        (?:contact|consult|appel|demand)(?:er|ez|e|le|lez)|(?:parl|adress)(?:er|ez)(?:-vous)?\ (?:à
          |avec|au)
        |voir|voyez
        """,
        r"""
        médecins?|docteurs?|pharmaciens?|avocats?|professionnels?|experts?|spécialistes?|autorités?
          |police
        |urgences?|service\ client|support|assistance|fabricant|vendeur|fournisseur|conseiller
          |équipe
        """,
        r"""
        (?:consult|vérifi|visit|regard|utilis|cherch)(?:er|ez|e)|voir|lire|lisez
          |(?:se\ )?référ(?:er|ez-vous)\ à
        """,
        r"""
        sites?|site\ web|pages?|application|appli|documentation|manuel|guide|sources?|internet
          |en\ ligne|web
        |moteur\ de\ recherche|actualités|prévisions
        """,
        r"""
        pour\ (?:plus|davantage|obtenir|de\ plus|des)\ {rest}
        """,
    ),
    r"""
    (?:pouvez|pourriez|peux|pourrais|voulez|voudriez|souhaitez|souhaites|veux|avez|as|puis|aimeriez)
      -(?:vous|tu|je)\b
    | (?:que|quel|quelle|quels|quelles|comment|où|quand|de\ quoi|en\ quoi)\ (?:\S+\ ){0,4}\S*
      (?:vous|tu|je)\b
    | (?:de\ |à\ |sur\ )?quels?(?:le)?s?\ (?:\S+\ ){0,3}\S+-(?:vous|tu)\b
    """,
    """
    qui que qu'il qu'elle dont où car parce est sont était étaient fut a ont été né née mort mais
    cependant lequel laquelle puisque comme
    """,
)

SPANISH = (
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
    | (?:no\ hay|ningún|sin)\ problema|entendido|de\ acuerdo|buen\ (?:punto|viaje|provecho)
    | por\ favor|aquí\ estoy|(?:eso\ )?depende|(?:déjame|permíteme|déjeme)\ (?:explicar|ver|pensar
      |comprobar)(?:te|lo|le)?(?:\ {rest})?|espero\ (?:que\ )?(?:esto|te|le|haber)\ {rest}
    | (?:puedo|estaré\ encantad[oa]\ de|estoy\ aquí\ para)\ (?:ayudar|explicar|dar|proporcionar)\S*
      (?:\ {rest})?|si\ (?:quieres|deseas|necesitas|tienes|quiere|desea|necesita|tiene)\ {rest}
    | (?:atentamente|saludos\ cordiales|un\ (?:cordial\ )?saludo)|aquí\ (?:tienes|está)
      |que\ te\ diviertas
    | espero\ haber(?:te|le|los)?\ {rest}|(?:muchas\ )?gracias\ por\ (?:tu|su|la)\ {rest}
      |aquí\ estoy
    | (?:quedo|estoy)\ a\ (?:tu|su)\ (?:entera\ )?disposición|saludos|un\ saludo|por\ supuesto
      |claro(?:\ que\ sí)?
    | (?:(?:te|le|os)\ )?puedo\ ayudar(?:te|le)?\ (?:en|con)\ {rest}
      |hay\ algo\ más\ en\ lo\ que\ {rest}
    | quieres\ que\ te\ {rest}
    """,
    r"""
    nota|aviso
    | (?:esto|esta\ información)\ no\ (?:es|constituye)\ (?:una?\ )?(?:asesoramiento|asesoría
      |consejo
      |recomendación)(?:\ \w+)?
    | lo\ (?:siento|lamento)(?:\ mucho)?|disculp[ae]|perdón|perdona|lamentablemente
      |desafortunadamente
    | como\ (?:ia|modelo\ de\ lenguaje|inteligencia\ artificial|asistente)
    | por\ favor\ (?:proporciona|proporcione|indica|indique|aclara|aclare)\ {rest}
    | (?:me\ disculpo|pido\ disculpas|mis\ disculpas)(?:\ por\ {rest})?
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
    | (?:yo\ )?no\ (?:estoy\ segur[oa]|soy\ (?:un\ |una\ )?(?:médico|abogad[oa]|expert[oa]
      |profesional|human[oa]))(?:\ {rest})?|ni\ idea
    | (?:eso|esto)\ (?:está\ fuera\ de|escapa\ a|excede)\ {rest}
    | (?:esa|esta|la)\ información\ no\ (?:está|es)\ {rest}
    | no\ (?:he\ encontrado|encontré|hallé|he\ hallado|se\ (?:encontró|encontraron|encuentra
      |ha\ encontrado)
      |cuento\ con|dispongo\ de|hay)\ (?:nada|ninguna?|esa|esta|más|suficiente|información|datos
      |detalles)(?:\ {rest})?
    | desconozco(?:\ (?:ese|este|el|la|esa|esta)\ (?:dato|respuesta|información|detalle|cifra|fecha
      |nombre))?
    | (?:ese|este)\ dato\ no\ {rest}|no\ me\ consta|lo\ (?:desconozco|ignoro)
    | (?:el|los|este|estos)\ (?:documentos?|contexto|textos?|manual|extractos?)\ no\ (?:lo|la|los
      |las)\ (?:dicen?|mencionan?|especifican?|indican?|explican?|recogen?)
    | en\ (?:el|la|los|las|estos?)\ (?:\S+\ )?(?:contexto|documentos?|textos?|manual|fuentes?
      |extractos?)\ no\ (?:se\ )?\S+(?:\ {rest})?
    | (?:el|los|este|estos)\ (?:documentos?|contexto|textos?|manual)\ no\ (?:proporcionan?|ofrecen?
      |dan?|aportan?)\ (?:esa|esta|ninguna|información|datos|detalles)(?:\ {rest})?
    """,
    (
        r"""
        por\ favor|siempre|también|(?:te|le|os)\ (?:recomiendo|sugiero|aconsejo)(?:\ que)?
          |(?:recomiendo|sugiero)
        |(?:puedes|deberías|debes|puede|debería)|es\ (?:mejor|recomendable|aconsejable|importante)
        """,
        r"""
        (?:consult|llam|contact|pregunt|habl|acud|visit)(?:a|e|es|ar|ir|ad|en|as)?(?:\ (?:a|con
          |al))?
        """,
        r"""
        médic[oa]s?|doctor(?:a|es)?|farmacéutic[oa]|abogad[oa]s?|profesional(?:es)?|expert[oa]s?
          |especialistas?
        |autoridad(?:es)?|policía|emergencias?|atención\ al\ cliente|soporte|fabricante|vendedor
          |proveedor
        |asesor|equipo
        """,
        r"""
        (?:consult|visit|revis|mir|verific|comprueb|comprob|us|busc)(?:a|e|es|ar|as)|lee|lea|leer
          |ve\ a|ver
        """,
        r"""
        sitios?|sitio\ web|web|páginas?|aplicación|app|documentación|manual|guía|fuentes?|internet
          |en\ línea
        |buscador|noticias|pronóstico
        """,
        r"""
        para\ (?:más|mayor|obtener|información)\ {rest}
        """,
    ),
    r"""
    (?:puedes?|podrías?|quieres?|quisieras?|(?:te|le)\ gustaría|deseas?|necesitas?|tienes?
      |puedo)\ \S
    | (?:qué|cuál|cuáles|cómo|cuándo|dónde|en\ qué|sobre\ qué)\ (?:\S+\ ){0,4}
      (?:usted|puedo|quieres?|necesitas?|deseas?|te|le|tu|su)\b
    | (?:a|de|con|sobre|en)\ (?:qué|cuál|cuáles)\ (?:\S+\ ){0,3}(?:te|se|le|estás|está|hablas|habla
      |quieres)\b
    | (?:te|se)\ refieres?\ a\ \S
    | (?:qué|cuál)\ \S+\ tienes?\ en\ mente
    """,
    """
    que quien quienes cual donde porque pues es son era eran fue fueron ha han nació murió ganó pero
    aunque como está están
    """,
)

ITALIAN = (
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
    | per\ favore|nessun\ problema|capito|va\ bene|buon\ (?:punto|viaggio|appetito|divertimento)
      |dipende
    | (?:fammi|lasciami|mi\ lasci)\ (?:spiegare|vedere|pensare|controllare)(?:\ {rest})?
    | (?:posso|sarò\ (?:felice|lieto)\ di|sono\ qui\ per)\ (?:aiutar|spiegar|dar
      |fornir)\S*(?:\ {rest})?
    | se\ (?:vuoi|desideri|hai|vuole|desidera|ha)\ {rest}|cordiali\ saluti|distinti\ saluti
      |ecco(?:\ a\ te)?
    | spero\ (?:di|che)\ {rest}
    | (?:spero\ di|felice\ di|lieto\ di)\ (?:esser|aver|aiutar)\S*(?:\ {rest})?|(?:resto
      |sono)\ a\ (?:tua|sua
      |vostra)?\ ?disposizione|(?:chiedi|chieda)\ pure|se\ hai\ altre\ domande|certo|certamente
      |volentieri
    | (?:buona\ (?:giornata|serata)|grazie\ per\ {rest})
    | (?:hai|ha)\ (?:altre|qualche\ altra)\ domand[ae]|c'è\ altro\ (?:che|in\ cui)\ {rest}
    """,
    r"""
    (?:nota|avvertenza)
    | (?:questo|ciò|questa\ informazione)\ non\ (?:è|costituisce)\ (?:una?\ )?(?:consiglio
      |consulenza
      |parere|raccomandazione)(?:\ \w+)?
    | mi\ (?:dispiace|scuso|scusi)(?:\ molto)?|scus[ai]|purtroppo|spiacente
    | (?:in\ quanto|come)\ (?:ia|modello\ linguistico|intelligenza\ artificiale|assistente)
    | per\ favore\ (?:fornisci|fornisca|specifica|specifichi)\ {rest}
    | (?:mi\ scuso|chiedo\ scusa|le\ mie\ scuse)(?:\ per\ {rest})?
    """,
    r"""
    (?:nel|nei|nella|nelle|negli)\ (?:\S+\ )?(?:contesto|document[oi]|test[oi]|manuale
      |font[ei])\ non\ (?:ci
      \ sono|c'è|vi\ sono|è|sono|viene|si\ \S+)(?:\ (?:nulla|niente|informazion[ei]|indicat[oaie]
      |riportat[oaie]|menzionat[oaie]|specificat[oaie]|parla|dice|trova|trovano))(?:\ {rest})?
    | non\ (?:ho|dispongo\ di|trovo|ho\ trovato)\ (?:alcuna\ |abbastanza\ |sufficienti\ )?
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
    | non\ (?:sono\ (?:sicur[oa]|una?|in\ grado)|saprei)(?:\ {rest})?|nessuna\ idea
    | (?:questo|ciò)\ (?:va\ oltre|esula\ da|supera)\ {rest}
    | (?:questa|tale)\ informazione\ non\ è\ {rest}
    | non\ ne\ (?:ho\ (?:idea|notizia)|so\ (?:nulla|niente))
    | (?:il|la|i|le|gli|questo|questi)\ (?:document[oi]|contesto|test[oi]|font[ei]|manuale
      |guida)\ non\ (?:lo|la
      |ne|li|le)\ (?:dic(?:e|ono)|menzionan?o?|menziona|parla|parlano|specifica|specificano|indica
      |indicano|riporta|riportano)(?:\ {rest})?
    | (?:il|la|i|le|gli|questo|questi)\ (?:document[oi]|contesto|test[oi]|manuale
      |guida)\ non\ (?:fornisc(?:e|ono)
      |d[àa]|danno|riporta(?:no)?)\ (?:quest[ae]|alcuna?|nessuna?|informazioni
      |dettagli)(?:\ {rest})?
    | (?:l'informazione|la\ risposta|questa\ informazione)\ non\ (?:è|si\ trova|compare
      |figura)\ {rest}
    """,
    (
        r"""
        per\ favore|sempre|anche|(?:ti|le|vi)\ (?:consiglio|suggerisco|raccomando)(?:\ di)?
          |(?:consiglio|suggerisco)
        (?:\ di)?|(?:puoi|dovresti|può|dovrebbe)|è\ (?:meglio|consigliabile|importante)
        """,
        r"""
        (?:consult|chiam|contatt)(?:a|i|are)|chied(?:i|a|ere)\ a[dl]?|parl(?:a|i|are)\ con
          |rivolg(?:iti|ersi|etevi|ersi)\ a\w*
        """,
        r"""
        medic[oi]|dottor(?:e|essa)|farmacista|avvocato|professionist[ai]|espert[oi]|specialist[ai]
          |autorità
        |polizia|emergenza|emergenze|assistenza|supporto|servizio\ clienti|produttore|venditore
          |fornitore
        """,
        r"""
        (?:consult|visit|controll|verific|guard|us|cerc)(?:a|i|are)|legg(?:i|a|ere)|vedi|veda
        """,
        r"""
        sit[oi]|sito\ web|web|pagin[ae]|app|applicazione|documentazione|manuale|guida|font[ei]
          |internet|online
        |motore\ di\ ricerca|notizie|previsioni
        """,
        r"""
        per\ (?:maggiori|ulteriori|più|informazioni)\ {rest}
        """,
    ),
    r"""
    (?:puoi|può|potrebbe|potresti|vuole|vuoi|desideri|desidera|posso|vorresti|vorrebbe
      |hai\ bisogno)\ \S
    | (?:che|cosa|quale|quali|come|dove|quando|di\ cosa|in\ cosa)\ (?:\S+\ ){0,4}
      (?:posso|vuoi|vuole|vorresti|desideri|ti|tu|lei)\b
    | (?:a|di|con|su|in)\ (?:che|quale|quali|cosa)\ (?:\S+\ ){0,3}(?:ti|si|stai|sta|parli|parla
      |intendi|riferisci)\b
    | (?:intendi|intende|ti\ riferisci|si\ riferisce)\ \S
    """,
    """
    che chi cui quale dove perché poiché è sono era erano fu furono ha hanno nato nata morto vinse
    ma
    però come
    """,
)

PORTUGUESE = (
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
    | por\ favor|(?:sem|nenhum)\ problema|entendi(?:do)?|combinado|bom\ ponto|boa\ viagem
      |bom\ apetite|depende
    | (?:deixe-me|me\ deixe|vamos)\ (?:explicar|ver|pensar|verificar)(?:\ {rest})?
    | (?:posso|ficarei\ feliz\ em|estou\ aqui\ para)\ (?:ajud|explic|d|fornec)\S*(?:\ {rest})?
    | se\ (?:você\ )?(?:quiser|desejar|precisar|tiver)\ {rest}|atenciosamente|aqui\ está
    | espero\ (?:que|ter)\ {rest}
    | (?:é\ só|basta)\ (?:avisar|perguntar|chamar|dizer)|(?:fico|estou)\ (?:à
      |a\ sua)\ (?:sua\ )?disposição
    | (?:muito\ )?obrigad[oa]\ (?:pel[oa]|por)\ {rest}|qualquer\ (?:dúvida|coisa)|estou\ aqui
      |disponha\ sempre
    | (?:fico\ )?feliz\ em\ (?:ajudar|poder\ ajudar)|se\ (?:você\ )?(?:tiver
      |precisar)\ (?:de\ )?(?:mais|outras?|alguma?)\ {rest}|claro|com\ certeza|espero\ ter\ {rest}
    | (?:você\ )?tem\ (?:mais\ )?(?:alguma|outra)\ (?:outra\ )?(?:dúvida|pergunta)|há\ (?:algo
      |alguma\ coisa)\ mais\ {rest}
    """,
    r"""
    (?:nota|aviso)
    | (?:isto|isso|esta\ informação)\ não\ (?:é|constitui)\ (?:uma?\ )?(?:aconselhamento|conselho
      |recomendação)(?:\ \w+)?
    | (?:sinto|lamento)(?:\ muito)?|desculp[ae]|(?:peço\ )?desculpas|infelizmente|perdão
    | como\ (?:uma?\ )?(?:ia|modelo\ de\ linguagem|inteligência\ artificial|assistente)
    | por\ favor\ (?:forneça|informe|especifique|esclareça)\ {rest}
    | (?:peço\ desculpas?|minhas\ desculpas)(?:\ (?:por|pelo|pela)\ {rest})?
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
    | (?:eu\ )?não\ (?:tenho\ certeza|sou\ (?:um\ |uma\ )?(?:médic[oa]|advogad[oa]|especialista
      |profissional|human[oa])|estou\ cert[oa])(?:\ {rest})?|não\ faço\ ideia
    | (?:isso|isto)\ (?:está\ fora|foge|vai\ além)\ {rest}
    | (?:essa|esta)\ informação\ não\ está\ {rest}
    | (?:eu\ )?desconheço(?:\ (?:ess[ae]|est[ae]|[oa])\ (?:dado|informação|resposta|detalhe))?
    | (?:o|a|os|as|este|estes)\ (?:documentos?|contexto|textos?|fontes?|manual|guia)\ não
      \ (?:[oa]\ )?(?:traz(?:em)?|informa(?:m)?|forne(?:ce|cem)|d[áã]o?|respondem?|especificam?
      |dizem?|abordam?)(?:\ {rest})?
    | não\ (?:é|foi)\ possível\ (?:responder|determinar|saber|encontrar|afirmar
      |informar)(?:\ {rest})?
    """,
    (
        r"""
        por\ favor|sempre|também|(?:recomendo|sugiro|aconselho)(?:\ que)?(?:\ você)?
          |(?:você\ )?(?:pode|deve|deveria)
        |é\ (?:melhor|recomendável|aconselhável|importante)
        """,
        r"""
        (?:consult|procur|contat|contact|lig|pergunt|fal)(?:e|a|ar|em|ue)(?:\ (?:a|com|para|ao))?
        """,
        r"""
        médic[oa]s?|doutora?|farmacêutic[oa]|advogad[oa]s?|profissiona(?:l|is)|especialistas?
          |autoridades?
        |polícia|emergências?|atendimento|suporte|fabricante|vendedor|fornecedor|equipe
        """,
        r"""
        (?:consult|visit|verifi[cq]u?|us|procur|acess)(?:e|a|ar)|ve(?:ja|rifique|r)|leia|ler
        """,
        r"""
        sites?|páginas?|aplicativo|app|documentação|manual|guia|fontes?|internet|online|web
          |notícias|previsão
        """,
        r"""
        para\ (?:mais|maiores|obter|informações)\ {rest}
        """,
    ),
    r"""
    (?:você\ )?(?:pode|poderia|podes|quer|gostaria|deseja|precisa|posso)\ \S
    | (?:o\ que|que|qual|quais|como|onde|quando|em\ que|sobre\ o\ que)\ (?:\S+\ ){0,4}
      (?:você|posso|gostaria|deseja|quer)\b
    | (?:a|de|em|sobre|com)\ (?:que|qual|quais)\ (?:\S+\ ){0,3}(?:você|se\ refere|está|quer|fala)\b
    | você\ (?:se\ refere|quer\ dizer|fala|está\ falando)\b
    """,
    """
    que quem qual onde porque pois é são era eram foi foram tem têm nasceu morreu ganhou mas porém
    como está
    """,
)
_NEVER = r"(?!)"
_NO_REFERRALS = (_NEVER, _NEVER, _NEVER, _NEVER, _NEVER, _NEVER)

POLISH = (
    r"""
    (?:cześć|hej|witaj(?:cie)?|dzień\ dobry|dobry\ wieczór|dobranoc|na\ razie)
    | do\ (?:widzenia|zobaczenia|usłyszenia)
    | (?:bardzo\ |serdecznie\ )?dziękuję(?:\ (?:bardzo|za\ {rest}))?|dzięki|proszę(?:\ bardzo)?
    | nie\ ma\ (?:za\ co|sprawy|problemu)|(?:to\ )?(?:bardzo\ )?(?:dobre|świetne|ciekawe)\ pytanie
    | mam\ nadzieję|(?:mam\ nadzieję\ )?że\ (?:to\ )?(?:ci\ |panu\ |pani\ )?(?:pomogłem|pomogłam
      |pomogło|pomoże)(?:\ {rest})?
    | (?:w\ czym|jak)\ mogę\ (?:ci\ |panu\ |pani\ )?pomóc(?:\ {rest})?|chętnie\ pomogę
    | (?:daj|proszę\ dać)(?:\ mi)?\ znać(?:\ {rest})?|w\ razie\ (?:dalszych\ )?pytań(?:\ {rest})?
    | (?:jeśli|jeżeli)\ (?:masz|ma\ pan|ma\ pani|macie|potrzebujesz|chcesz|będziesz)\ {rest}
    | (?:pytaj|śmiało)(?:\ {rest})?|(?:miłego|udanego)\ (?:dnia|wieczoru)|pozdrawiam|powodzenia
    """,
    r"""
    niestety|przykro\ mi|przepraszam(?:\ (?:bardzo|za\ {rest}))?
    | jako\ (?:ai|sztuczna\ inteligencja|(?:duży\ )?model\ językowy)
    | proszę\ (?:podać|sprecyzować|doprecyzować)\ {rest}
    """,
    r"""
    (?:(?:tego|niestety|ja|naprawdę|o\ tym)\ )*nie\ (?:wiem|znam|mam|mogę|jestem\ (?:w\ stanie
      |pewien
      |pewna)|potrafię|posiadam|pamiętam|rozumiem|dysponuję|znalazł[ae]m|udało\ mi\ się|będę\ w
      \ stanie)(?:\ {rest})?
    | (?:w\ )?(?:(?:tych|tym|podan\w+|dostarczon\w+)\ )*(?:dokumen\w+|konte\w+|tekst\w*|tekś\w+
      |źród\w+|materiał\w*|podręcznik\w*|instrukcj\w+)\ (?:(?:nic|o\ tym|tego)\ )*nie
      \ (?:ma|mówi\w*|wspomin\w+|zawier\w+|poda\w+|określ\w+|znajduje\ się|znalazł\w+)(?:\ {rest})?
    | (?:brak|nie\ ma)\ (?:informacji|danych|wzmianki|mowy)(?:\ {rest})?
    """,
    _NO_REFERRALS,
    r"""
    (?:czy|o\ co|o\ jak\w+|o\ któr\w+|jak\w*|któr\w+|co)\ (?:\S+\ ){0,5}(?:pan|pani|panu|ci|mam|mogę
      |masz|może|możesz|mógłbyś|mogłabyś|chcesz|chodzi|pytasz|potrzebujesz)\b
    """,
    """
    że który która które gdzie bo ponieważ jest są był była było były ma urodził zmarł ale jednak
    """,
)

RUSSIAN = (
    r"""
    привет(?:ствую)?|здравствуй(?:те)?|доброе\ утро|добрый\ (?:день|вечер)|доброй\ ночи
    | до\ (?:свидания|встречи|скорого)|пока
    | (?:большое\ |огромное\ )?спасибо(?:\ (?:большое|за\ {rest}))?|благодарю(?:\ (?:вас
      |за\ {rest}))?
    | пожалуйста|не\ за\ что|рада?\ (?:(?:был[аи]?\ )?помочь|вас\ видеть)
    | (?:это\ )?(?:отличный|хороший|интересный|прекрасный)\ вопрос
    | (?:я\ )?надеюсь|(?:это|ответ)\ (?:вам\ |тебе\ )?(?:поможет|помогло|помог|был[оа]?\ полез(?:но
      |ен))
    | если\ (?:у\ (?:вас|тебя)\ )?(?:есть|будут|остались|появятся|возникнут|нужн[аы]|хотите)\ {rest}
    | (?:обращайтесь|обращайся|спрашивайте|спрашивай|дайте\ знать|дай\ знать|пишите)(?:\ {rest})?
    | (?:чем|как)\ (?:я\ )?могу\ (?:вам\ |тебе\ )?(?:помочь|быть\ полезен)(?:\ {rest})?
    | (?:хорошего|приятного|удачного)\ (?:дня|вечера)|всего\ (?:доброго|хорошего)|с\ уважением|удачи
    | (?:чем\ )?(?:могу\ ли\ я\ |ещё\ )*(?:могу\ )?(?:ещё\ )?
      (?:(?:чем-нибудь|чем-то)\ )?(?:вам\ )?помочь
    """,
    r"""
    к\ сожалению|увы|извини(?:те)?|прости(?:те)?|прошу\ прощения|мне\ (?:очень\ )?жаль|сожалею
    | (?:как|я)\ (?:всего\ лишь\ )?(?:ии|ии-ассистент|искусственный\ интеллект
      |(?:большая\ )?языковая\ модель)
    | (?:уточните|поясните|предоставьте)\ {rest}
    """,
    r"""
    (?:(?:я|этого|это|точно|честно\ говоря)\ )*не\ (?:знаю|помню|уверена?|понимаю|располагаю|владею
      |обладаю|имею|могу|смогу|способна?|буду|наш[её]л|нашла|вправе|в\ состоянии
      |в\ курсе)(?:\ {rest})?
    | у\ меня\ (?:\S+\ )?нет(?:\ {rest})?|(?:мне\ (?:это\ )?|это\ мне\ )не\ ?известно
    | понятия\ не\ имею|(?:мне\ )?не\ удалось\ (?:найти|установить|определить)(?:\ {rest})?
    | (?:в\ )?(?:(?:этих|этом|данн\w+|предоставленн\w+|привед[её]нн\w+)\ )*(?:документ\w*
      |контекст\w*|текст\w*|источник\w*|материал\w*|руководств\w*|отрывк\w*|инструкци\w*)
      \ (?:(?:об\ этом|про\ это|ничего|этого)\ )*(?:нет|не\ (?:говор\w+|сказан\w*|указ\w+|упом\w+
      |содерж\w+|описан\w*|привед\w+|сообща\w+))(?:\ {rest})?
    | (?:\S+\ ){1,6}не\ (?:упом\w+|указ\w+|описан\w*|содерж\w+)\ в\ (?:\S+\ ){0,2}(?:документ\w*
      |контекст\w*|текст\w*|источник\w*|материал\w*|руководств\w*)
    | (?:в\ )?(?:документ\w*|контекст\w*|текст\w*|источник\w*|материал\w*|руководств\w*)\ (?:это
      |этот\ \S+|эта\ \S+|он\w?)\ не\ (?:указ\w+|упом\w+|описан\w*|сказан\w*)
    """,
    _NO_REFERRALS,
    r"""
    (?:не\ )?(?:могли\ бы|можете|можешь|хотите|хочешь|имеете|имеешь)\ (?:вы|ты|ли|в\ виду|\S+)\b
    | (?:вы|ты)\ (?:имеете|имеешь|хотите|хочешь|про|о|об)\ \S
    | (?:о\ |про\ )?(?:как\w+|что|ч[её]м|где|когда|кого)\ (?:\S+\ ){0,4}(?:вы|вас|вам|ты|тебя|тебе
      |мне|я)\b
    """,
    """
    что который которая которое которые где потому так был была было были есть родился родилась умер
    умерла но однако поскольку
    """,
)

TURKISH = (
    r"""
    merhaba(?:lar)?|selam(?:lar)?|günaydın|iyi\ (?:günler|akşamlar|geceler)|hoş\ geldin(?:iz)?
    | hoşça\ kal(?:ın)?|görüşürüz|(?:(?:\S+\ ){0,3}için\ |çok\ )?teşekkür(?:ler|\ eder(?:im|iz))
    | rica\ ederim|bir\ şey\ değil|(?:bu\ )?(?:çok\ )?(?:güzel|iyi|harika)\ (?:bir\ )?soru
    | umarım\ (?:\S+\ ){0,3}(?:olur|olmuştur|olmuşumdur)
    | (?:başka\ )?(?:bir\ )?(?:sorun|sorunuz|sorularınız|soruların)\ (?:varsa|olursa)(?:\ {rest})?
    | (?:(?:size|sana|bugün|başka)\ )*nasıl\ yardımcı\ olabilirim(?:\ \S+)?
    | (?:lütfen\ )?sormaktan\ çekinme\w*|kolay\ gelsin|saygılarımla|iyi\ şanslar
    | (?:başka\ )?(?:bir\ )?(?:\S+\ )?(?:konuda\ )?yardımcı\ olabilir\ miyim
    """,
    r"""
    (?:çok\ )?(?:üzgünüm|özür\ dilerim)|kusura\ bakma(?:yın)?|affedersin(?:iz)?|maalesef
    | ne\ yazık\ ki|bir\ (?:yapay\ zeka|dil)(?:\ \S+)?(?:\ olarak)
    """,
    r"""
    (?:\S+\ ){0,7}(?:bilmiyorum|bilemiyorum|emin\ değilim|yardımcı\ olam(?:am|ıyorum)|yardım\ edemem
      |(?:cevap|yanıt|bilgi)\ verem(?:em|iyorum)|(?:yanıt|cevap)layamam|bulamadım|bulamıyorum
      |sağlayamam|(?:erişimim|bilgim|fikrim)\ yok|bilgiye\ sahip\ değilim
      |bilgi\ (?:bulunmuyor|bulunmamaktadır|yok))
    | (?:\S+\ ){0,4}(?:belge\w*|doküman\w*|metin\w*|metn\w+|bağlam\w*|kaynak\w*|kılavuz\w*)
      \ (?:\S+\ ){0,4}(?:bulunmuyor|bulunmamaktadır|belirtilme\w+|yer\ alm[ıa]\w+|geçmiyor|içerm\w+
      |bahse\w*m[ei]\w+|söylemiyor)
    """,
    _NO_REFERRALS,
    r"""
    (?:\S+\ ){0,7}(?:m[iıuü]s[iıuü]n(?:[iıuü]z)?|istiyorsun(?:uz)?|istersiniz|kastediyorsun(?:uz)?
      |söylüyorsun(?:uz)?)\Z
    """,
    "çünkü ama fakat ancak olan olarak doğdu öldü",
)

ARABIC = (
    r"""
    (?:مرحبا|مرحبًا|مرحباً|أهلا|أهلًا|أهلاً)(?:\ (?:بك|وسهلا|وسهلًا|وسهلاً))?
      |(?:و?عليكم\ )?السلام(?:\ عليكم)?
    | صباح\ (?:الخير|النور)|مساء\ (?:الخير|النور)|مع\ السلامة|إلى\ اللقاء|على\ الرحب\ والسعة
    | (?:شكرا|شكرًا|شكراً)(?:\ (?:لك|جزيلا|جزيلًا|جزيلاً|على\ {rest}))?|عفوا|عفوًا|عفواً|بالتوفيق
    | (?:هذا\ )?سؤال\ (?:جيد|رائع|ممتاز)|(?:آمل|أتمنى|أرجو)\ أن\ (?:يكون|تكون|يساعد
      |يفيد)\w*(?:\ {rest})?
    | (?:كيف|بماذا|بم)\ (?:يمكنني|أستطيع)\ (?:أن\ )?(?:مساعدتك|أساعدك)(?:\ {rest})?
      |لا\ تتردد\ في\ {rest}
    | إذا\ (?:كان|كانت|كنت|احتجت|أردت)\ (?:لديك\ |بحاجة\ )?{rest}|أخبرني\ {rest}
      |يسعدني\ (?:أن\ )?مساعدتك
    | هل\ (?:تحتاج|تريد|يمكنني|أستطيع)\ (?:إلى\ )?(?:مساعد\w+|أي\ \w+|أن\ أساعدك)(?:\ {rest})?
    """,
    r"""
    (?:أنا\ )?(?:آسف|آسفة|أعتذر|عذرا|عذرًا|عذراً|المعذرة)(?:\ (?:جدا|جدًا|عن\ {rest}))?|للأسف
      |مع\ الأسف
    | (?:بصفتي|كوني|باعتباري)\ (?:نموذج\w*|ذكاء\w*|مساعد\w*)(?:\ \S+){0,3}
    """,
    r"""
    (?:(?:لكن|ولكن|لكنني|ولكنني|لكني|أنا|للأسف|آسف)\ )*(?:لا\ (?:أعرف|أعلم|أدري|أملك|أستطيع|يمكنني
      |أمتلك
      |أقدر|أجد|(?:تتوفر|تتوافر|توجد|يوجد)\ لدي)|لم\ (?:أجد|أتمكن|أعثر|أستطع)|ليس(?:ت)?\ (?:لدي
      |عندي)|لن\ (?:أتمكن|أستطيع)|لست\ (?:متأكد|قادر|على)\S*)(?:\ {rest})?
    | (?:لا|لم)\ (?:يذكر|تذكر|يرد|ترد|يوجد|توجد|تحتوي|يحتوي|تتضمن|يتضمن|تشير|يشير)\ (?:\S+\ ){0,5}
      (?:المستندات|المستند|الوثائق|الوثيقة|النص|النصوص|السياق|المصادر|المصدر|الدليل)(?:\ {rest})?
    | (?:المستندات|المستند|الوثائق|الوثيقة|النص|النصوص|السياق|المصادر|المصدر
      |الدليل)\ (?:\S+\ )?(?:لا|لم)
      \ (?:يذكر|تذكر|تحتوي|يحتوي|تتضمن|يتضمن|تشير|يشير|يوضح|توضح)(?:\ {rest})?
    | لا\ توجد\ (?:أي\ )?معلومات(?:\ {rest})?
    """,
    _NO_REFERRALS,
    r"""
    (?:هل|ما|ماذا|أي|عن\ أي|كيف)\ (?:\S+\ ){0,5}(?:تقصد|تقصده|تريد|تريده|تعني|تود|يمكنك|تبحث|تتحدث)
      (?:\ \S+){0,6}\Z
    """,
    "الذي التي الذين لأن حيث كان كانت هو هي ولد توفي",
)

HINDI = (
    r"""
    नमस्ते|नमस्कार|हैलो|सुप्रभात|शुभ\ (?:रात्रि|संध्या|प्रभात)|अलविदा|फिर\ मिलेंगे
    | (?:(?:बहुत|आपका)\ )*(?:धन्यवाद|शुक्रिया)|(?:आपका\ )?स्वागत(?:\ है)?|शुभकामनाएँ|शुभकामनाएं
    | (?:यह\ )?(?:एक\ )?(?:बहुत\ )?(?:अच्छा|बढ़िया|शानदार)\ (?:सवाल|प्रश्न)(?:\ है)?
    | (?:मुझे\ )?(?:आशा|उम्मीद)\ है(?:\ कि\ (?:यह|इससे|आपको)\ {rest})?
    | (?:मैं\ )?आपकी\ (?:\S+\ ){0,3}(?:मदद|सहायता)\ (?:\S+\ ){0,2}कर\ सकत[ाी]\ (?:हूँ|हूं)
    | (?:यदि|अगर)\ (?:आपके|आपको|आप)\ {rest}
    | (?:(?:बेझिझक|कृपया|तो|मुझे)\ )*(?:पूछें|पूछिए|बताएं|बताएँ|बताइए)
    | (?:क्या\ )?मैं\ आपकी\ (?:\S+\ ){0,4}(?:मदद|सहायता)\ (?:\S+\ ){0,2}सकत[ाी]\ (?:हूँ|हूं)
    """,
    r"""
    (?:मुझे\ )?(?:क्षमा\ कर(?:ें|ना)|माफ़?\ (?:करें|कीजिए|करना)|खेद\ है|अफ़?सोस\ है)|दुर्भाग्य\ से
      |दुर्भाग्यवश
    | एक\ (?:एआई|ai)(?:\ \S+){0,4}\ (?:के\ रूप\ में|होने\ के\ नाते)
    """,
    r"""
    (?:(?:मुझे|मैं|मेरे|इस|इसकी|इसके|यह)\ (?:\S+\ ){0,7})?(?:नहीं\ (?:पता|मालूम|जानत[ाी])|पता\ नहीं
      |(?:जानकारी|सूचना|डेटा)\ (?:उपलब्ध\ )?नहीं|नहीं\ (?:कर|दे|बता)\ सकत[ाी]|असमर्थ)(?:\ (?:है|हूँ
      |हूं|मिली))?
    | (?:\S+\ ){0,5}(?:दस्तावेज़?\S*|संदर्भ|पाठ|स्रोत\S*)\ (?:में
      |से)\ (?:\S+\ ){0,6}नहीं(?:\ \S+){0,4}
    """,
    _NO_REFERRALS,
    r"""
    (?:क्या\ )?(?:आप|आपको|आपका)\ \S|(?:कौन|किस)\S*\ (?:\S+\ ){0,4}(?:आप|आपको|आपका)\ \S
    """,
    "जो जिसने जिसका क्योंकि था थी थे लेकिन परंतु जबकि",
)

JAPANESE = (
    r"""
    こんにちは|こんばんは|おはよう(?:ございます)?|はじめまして|ようこそ|さようなら|お疲れ(?:様
      |さま)です
    | \S{0,8}?(?:ご|お)(?:質問|問い合わせ|連絡|利用|知らせ|返信
      |礼)?\S{0,6}(?:ありがとう(?:ござい(?:ます|ました))?)
    | (?:どうも)?ありがとう(?:ござい(?:ます|ました))?|どういたしまして
    | (?:(?:少し|これ|この回答|以上)\S{0,3})?(?:お役に立て|参考になれ|お力になれ)(?:れば|ば|て|たら
      |ましたら)
      (?:幸い|嬉しい|うれしい)です|(?:とても)?(?:いい|良い|よい|素晴らしい)(?:ご)?質問です(?:ね)?
    | (?:(?:また|もし|ほか|他|何か|さらに|その他|に|も|、)*(?:ご|お)?(?:質問|不明な?点|要望
      |知りたいこと|困りのこと
      |手伝いできること|必要なこと)?(?:など)?(?:が|は)?(?:ございましたら|ありましたら|あれば))?
      (?:(?:いつでも|お気軽に|ご?遠慮なく|ぜひ|また))*(?:(?:お|ご)(?:知らせ|尋ね|聞き|聞かせ
      |申し付け|質問
      |問い合わせ|相談|連絡|声がけ|声かけ)|聞いて|言って|質問して)?(?:ください(?:ませ|ね)?|どうぞ)?
    | (?:本日は|今日は|他に|何を|何か|どのように|どういった(?:ことを|ご用件で))*(?:お手伝い|お役に
      |お力に)(?:いたし|し|立てること|できること|なれること|なれ)\S{0,8}(?:か)
    | (?:良い|よい|素敵な)(?:一日|週末)を(?:お過ごしください)?|お大事に|頑張ってください
      |よろしくお願い(?:いた)?します
    | 以上|(?:ご)?参考になれば幸いです
    """,
    r"""
    (?:大変|誠に)?(?:申し訳(?:あり|ござい)ません|すみません|ごめんなさい|恐れ入ります)(?:が|けど)?
      |残念ながら|あいにく
    | (?:私は)?(?:ai|人工知能|大規模言語モデル|言語モデル|aiアシスタント)(?:です|なので|として
      |のため|ですので|である\S{0,3})
    """,
    r"""
    (?:\S{1,24}(?:は|には|が|を|も|について|に関して|から)|よく|詳しく|はっきりとは)?(?:わかり
      |分かり|解り|知り|存じ
      |存じ上げ|お答えでき|お答えいたし|答えられ|お答えすることはでき|お答えし|お手伝いでき
      |お手伝いすることはでき
      |お力になれ|お力にはなれ|対応でき|対応し|提供でき|ご提供でき|提供することはでき|見つかり
      |見つけられ|把握してい|把握しており|確認でき|お伝えでき|回答でき|回答し|判断でき
      |ご案内でき)(?:ません(?:でした)?|かねます)
    | \S{0,24}(?:情報|記載|記録|データ|知識|記述|言及)(?:は|が|を|も)?(?:一切|特に|現在)?(?:あり
      |ござい|見つかり
      |見当たり|持って(?:い|おり)|持ち合わせて(?:い|おり)|含まれて(?:い|おり))ません(?:でした)?
    | \S{0,24}(?:資料|文書|文章|コンテキスト|文脈|ドキュメント|テキスト|本文|マニュアル|記事
      |取扱説明書)(?:の中)?(?:に|には|では|から|からは|は|の)\S{0,24}(?:ません(?:でした)?|かねます)
    | \S{0,16}(?:お応え|お答え|応じること|回答)(?:は)?(?:でき|いたし)(?:ません|かねます)
    """,
    _NO_REFERRALS,
    r"""
    \S{0,12}(?:どの|どちら|どれ|何|いつ|どんな|どういった|どのような)\S{0,16}(?:ですか|でしょうか
      |ますか|お探し\S{0,6})\Z
    | \S{0,24}(?:教えて|聞かせて|知らせて|説明して)\S{0,3}(?:いただけ|もらえ|くださ)\S{0,6}\Z
    """,
    "",
)

CHINESE = (
    r"""
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
    | (?:请问)?(?:今天)?有什么(?:我)?(?:可以|能)(?:帮|为)\S{0,8}|(?:请问)?(?:我)?(?:怎么
      |如何)(?:可以|能|才能)?帮(?:您|你|助您|助你)\S{0,2}
    | (?:请问)?还(?:有什么|需要我)\S{0,10}(?:帮|做|了解)\S{0,6}
    """,
    r"""
    (?:很|非常|实在|十分|真)?(?:抱歉|对不起|不好意思|遗憾)|作为(?:一个|一名)?(?:ai|人工智能
      |大?型?语言模型)\S{0,6}
    | 根据\S{0,6}(?:资料|文档|文件|信息|内容|上下文|材料)|请(?:您|你)?(?:提供|补充|说明)\S{1,12}
    """,
    r"""
    (?:(?:但|但是|不过|所以|因此|这个?|对此|这方面|目前|恐怕|关于\S{1,12})*我|我们)(?:目前|暂时|真的
      |也|还|对此|并|恐怕|实在)*
      (?:不能|无法|没法|没办法|不会|不便|帮不了|帮不上|不知道|不清楚|不了解|不确定|不太清楚|未能
      |没能|没有?找到|没有?查到|找不到|查不到)\S{0,20}
    | (?:这个?|对此|关于\S{1,12})*(?:我|我们)?(?:目前|暂时|也|还|并)*(?:没有|缺乏)(?:任何|足够的?
      |相关的?|更多的?|这方面的?
      |具体的?|关于\S{1,12}的)*(?:信息|资料|数据|记录|答案|权限|办法|偏好|喜好|看法|感受)
    | (?:恐怕|暂时|目前|抱歉)?(?:无法|不能)(?:回答|提供|协助|帮助|确定|确认|查到|满足|处理|得知
      |判断)\S{0,12}
    | (?:真的|还)?不(?:知道|清楚|太清楚)(?:这一点|这个)?
    | \S{0,20}(?:资料|文档|文件|文中|文章|上下文|材料|手册|原文|文本|说明书|内容)(?:里|中|内
      |当中)?(?:并|都|也|均)?
      (?:(?:没有?|未|不)\S{0,3}(?:提到|提及|说明|包含|提供|记载|给出|涉及|指出|注明|写明|显示|说|讲)
      |(?:没有|无|未找到|找不到|查不到|没有?找到|看不出|无法)\S{0,14})\S{0,14}
    """,
    _NO_REFERRALS,
    r"""
    (?:请问)?(?:您|你)(?:是|想|要|指|说|需要|能|可以|希望|打算|问)\S{0,18}|(?:请问|能否|能不能
      |可以)\S{0,22}
    | (?:哪|什么|多少)\S{0,4}(?:您|你)\S{0,10}
    """,
    "",
)

KOREAN = (
    r"""
    안녕(?:하세요|하십니까|히\ 계세요|히\ 가세요)?|반갑습니다|
      (?:(?:정말|대단히|매우)\ )?(?:감사합니다|고맙습니다|감사해요)
    | (?:\S+\ )?(?:\S+\ )?주셔서\ (?:감사합니다|고맙습니다)|천만에요|별말씀을요
    | (?:아주\ |정말\ )?좋은\ 질문(?:입니다|이에요|이네요)
    | (?:이\ \S+\ )?도움이\ (?:되었기를|되기를|되셨기를|되었으면|되길)\ (?:바랍니다|좋겠습니다
      |합니다)
    | (?:(?:더|다른|추가|추가로|또|혹시)\ )*(?:궁금(?:한|하신)\ (?:점|것|내용)이|질문이|문의\ 사항이
      |필요(?:한|하신)\ (?:것|점)이)
      (?:\ 더)?\ ?있으시?면(?:\ (?:언제든지?|편하게|말씀해|알려|물어봐|문의해|질문해|주세요
      |주십시오)){0,5}
    | (?:(?:언제든지?|편하게)\ )*(?:말씀해|알려|물어봐|문의해|질문해)\ ?(?:주세요|주십시오)
    | (?:(?:무엇을|어떻게|오늘|뭘)\ )*도와\ ?드릴까요|좋은\ 하루\ (?:보내세요|되세요
      |보내시기\ 바랍니다)
    """,
    r"""
    (?:정말\ |대단히\ )?(?:죄송(?:하지만|합니다만|합니다|해요)|미안(?:합니다|하지만|해요))
      |유감스럽게도|안타깝게도|아쉽게도
    | (?:저는\ )?(?:ai|인공지능|언어\ 모델)(?:\ (?:언어\ 모델|어시스턴트|모델))?(?:로서|이라서
      |이므로|입니다)?
    """,
    r"""
    (?:\S+\ ){0,7}(?:(?:도와\ ?드릴|도울|제공할|제공해\ 드릴|제공해\ 줄|답변할|답변해\ 드릴|답변드릴
      |대답할|답할|확인할|찾을
      |알려\ ?드릴|말씀드릴|알)\ 수(?:는|가)?\ 없(?:습니다|어요|네요|었습니다)
      |(?:잘\ )?모르겠(?:습니다|어요|네요)|모릅니다|몰라요)
    | (?:\S+\ ){0,6}(?:정보|자료|데이터|기록|언급)(?:이|가|는|은|를|을)?\ (?:없(?:습니다|어요)
      |(?:가지고|갖고)\ 있지\ 않습니다|찾지\ 못했습니다)
    | (?:\S+\ ){0,6}(?:문서|자료|문맥|본문|매뉴얼|설명서|컨텍스트|텍스트)(?:에|에는|에서
      |에서는)\ (?:\S+\ ){0,5}(?:없|않|않았|못했)(?:습니다|어요|아요)
    """,
    _NO_REFERRALS,
    r"""
    (?:\S+\ ){0,4}(?:어떤|어느|무슨|무엇|언제|어디|더|자세히|구체적으로)(?:\ \S+){1,6}\Z
    """,
    "",
)
