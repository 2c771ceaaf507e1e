"""How greetings, refusals and the like are worded in French, Spanish, Italian and Portuguese.

For each language, as `Language` has them: what is polite, excuses, refusals, referrals, what a
question to the user begins with, and words that claim something. A referral has six parts: what
stands before the verb, verbs of asking, who is asked, verbs of looking up, where, and other ways.
"""

FRENCH = (
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
    """,
    r"""
    (?:je\ suis\ )?(?:vraiment\ )?désolée?|excusez-moi|je\ m'excuse|malheureusement|je\ regrette
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
    | il\ n'y\ a\ (?:pas|aucune?|rien)\ ?(?:d'|de\ )?(?:informations?|mention|sur|à)?(?:\ {rest})?
    | je\ ne\ (?:le\ )?(?:sais|comprends)\ pas(?:\ la\ réponse|\ la\ question|\ votre\ question)?
    | je\ ne\ (?:peux|puis)\ (?:pas|malheureusement\ pas)\ (?:vous\ |t'|y\ |le\ )?
      (?:aider|répondre|faire|fournir)(?:\ {rest})?
    | je\ n(?:e\ |')(?:\S+\ ){0,3}(?:pas|aucune?|jamais)(?:\ {rest})?|aucune\ idée
    | (?:c'est|cela|ceci)\ (?:dépasse|est\ (?:hors|en\ dehors)\ de|hors\ de)\ {rest}
    | cette\ information\ n'est\ pas\ {rest}
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
      |comprobar)(?:te|lo|le)?
      (?:\ {rest})?|espero\ (?:que\ )?(?:esto|te|le|haber)\ {rest}
    | (?:puedo|estaré\ encantad[oa]\ de|estoy\ aquí\ para)\ (?:ayudar|explicar|dar|proporcionar)\S*
      (?:\ {rest})?|si\ (?:quieres|deseas|necesitas|tienes|quiere|desea|necesita|tiene)\ {rest}
    | (?:atentamente|saludos\ cordiales|un\ (?:cordial\ )?saludo)|aquí\ (?:tienes|está)
      |que\ te\ diviertas
    """,
    r"""
    lo\ (?:siento|lamento)(?:\ mucho)?|disculp[ae]|perdón|perdona|lamentablemente
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
      |profesional
      |human[oa]))(?:\ {rest})?|ni\ idea
    | (?:eso|esto)\ (?:está\ fuera\ de|escapa\ a|excede)\ {rest}
    | (?:esa|esta|la)\ información\ no\ (?:está|es)\ {rest}
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
    """,
    r"""
    mi\ (?:dispiace|scuso|scusi)(?:\ molto)?|scus[ai]|purtroppo|spiacente
    | (?:in\ quanto|come)\ (?:ia|modello\ linguistico|intelligenza\ artificiale|assistente)
    | per\ favore\ (?:fornisci|fornisca|specifica|specifichi)\ {rest}
    | (?:mi\ scuso|chiedo\ scusa|le\ mie\ scuse)(?:\ per\ {rest})?
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
    | non\ (?:sono\ (?:sicur[oa]|una?|in\ grado)|saprei)(?:\ {rest})?|nessuna\ idea
    | (?:questo|ciò)\ (?:va\ oltre|esula\ da|supera)\ {rest}
    | (?:questa|tale)\ informazione\ non\ è\ {rest}
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
    """,
    r"""
    (?:sinto|lamento)(?:\ muito)?|desculp[ae]|(?:peço\ )?desculpas|infelizmente|perdão
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
    """,
    """
    que quem qual onde porque pois é são era eram foi foram tem têm nasceu morreu ganhou mas porém
    como está
    """,
)
