"""Phrases of Romance and other languages.

The fields are those of `Phrases`. Polish, Russian, Turkish, Arabic, Hindi, Japanese, Chinese and
Korean have the most common phrases. Japanese and Chinese have no spaces: their patterns limit the
number of characters where others have `{rest}`.
"""

from __future__ import annotations

from typing import Final

from resay.core.phrases import Phrases

FRENCH: Final = Phrases(
    polite=r"""
    (?:bonjour|bonsoir|salut|coucou|bienvenue)(?: (?:à tous|à vous))?|au revoir|adieu|ah|oh|eh bien
    | (?:très )?bonne (?:nuit|journée|soirée|continuation|chance|route|lecture)(?: à (?:vous|toi))?
    | à (?:bientôt|plus tard|demain)|merci(?: (?:beaucoup|bien|encore|à (?:vous|toi)))?(?: (?:de
      |pour) {rest})?
    | de rien|je vous en prie|je t'en prie|avec plaisir|enchantée?|bien sûr|voilà|voici
    | (?:comment )?ça va(?: (?:bien|toi))?|comment (?:allez-vous|vas-tu)|et (?:vous|toi)
    | (?:ça|je) (?:va|vais) (?:très )?bien|(?:comment|en quoi|que) puis-je {rest}
    | (?:me )?(?:demander|poser (?:vos|d'autres) questions)
    | n'hésite(?:z)? pas(?: {rest})?|(?:c'est )?(?:une )?(?:très )?(?:bonne|excellente
      |belle) question
    | (?:j'espère|ravie?|heureu(?:x|se)) (?:que (?:cela|ça|ceci|ma|cette|mon)|de|vous|t')
      (?: {rest})?
    | j'espère que (?:cela|ça) (?:vous |t')(?:sera|est) utile|(?:dites-moi|faites-moi savoir)
      (?: {rest})?|s'il vous plaît|pas de (?:problème|souci)
    | compris|(?:c'est )?(?:noté|entendu)|bon (?:point|voyage|appétit)|(?:tout |cela |ça )?dépend
    | est-ce (?:clair|que cela vous aide)|cordialement|bien à (?:vous|toi)
    | (?:laissez-moi|laisse-moi|permettez-moi de) (?:\S+ )?(?:expliquer|voir|réfléchir|vérifier
      |préciser)(?: {rest})?
    | je (?:peux|serais ravie? de|suis (?:là pour|ravie? de|heureu(?:x|se) de)) (?:vous |t')(?:aider
      |expliquer|donner|fournir)(?: {rest})?
    | si (?:vous|tu) (?:voulez|souhaitez|avez|as|veux|souhaites) {rest}
    | je (?:reste|suis|demeure) (?:là|à (?:votre|ta) (?:entière )?disposition)
    | y a-t-il (?:autre chose|quelque chose) {rest}
    """,
    disclaimer=r"""
    remarque|avertissement|malheureusement|je regrette|excusez-moi|je m'excuse(?: {rest})?
    | (?:ceci|cela|ce|(?:cette|ces|les) {info}) ne? ?(?:'est|est|sont|constitue(?:nt)?
      |remplace(?:nt)?) (?:pas|en rien|aucun) (?:l'|l’)?(?:\S+ ){0,3}?\S*(?:avis|conseils?
      |recommandation|consultation|diagnostic)(?: {rest})?
    | (?:cette|ces|mes|les) {info} (?:peu(?:t|vent) être (?:obsolètes?|incomplètes?|inexactes?
      |erronées?)|(?:est|sont) (?:(?:donnée|fournie)s? )?à titre (?:purement )?(?:indicatif
      |informatif|général))
    | cette {info} (?:se base|est (?:basée|fondée)|repose) sur {docs}
    | (?:je suis )?(?:vraiment )?désolée?|je vous présente mes excuses(?: {rest})?
      |toutes mes excuses
    | en tant qu'(?:ia|intelligence artificielle|assistant|modèle de langage)
    | (?:veuillez|merci de) (?:préciser|fournir|reformuler)(?: {rest})?|(?:selon|dans
      |d'après) {docs}
    """,
    refusal=r"""
    je n(?:e |')(?:\S+ ){0,3}(?:pas|aucune?|rien|jamais|d'aucune)(?: {rest})?|aucune idée
    | je (?:n'en sais rien|l'ignore)|il m'est (?:malheureusement )?impossible de {rest}
    | (?:c'est|cela|ceci) (?:dépasse|est (?:hors|en dehors) de|hors de) {rest}
    """,
    silence=r"""
    {docs} n(?:e (?:l'|le |les )?|'en |') ?(?:di(?:t|sent)|mentionne(?:nt)?|précise(?:nt)?
      |indique(?:nt)?|parle(?:nt)?|explique(?:nt)?) (?:pas|rien|aucune?)(?: {rest})?
    | {docs} ne (?:contien(?:t|nent)|fourni(?:t|ssent)|donne(?:nt)?) (?:rien|(?:pas|aucune?) (?:d'
      |de |cette |ces )?{info})(?: {rest})?
    | dans {docs} il n'y a (?:pas|aucune?|rien) ?(?:d'|de )?(?:{info}|mention|sur|à)(?: {rest})?
    | {rest} n(?:'est|e sont) pas (?:mentionnée?s?|indiquée?s?|précisée?s?)
    | {rest} (?:n'est|n'apparaît|ne figure|n'a pas été|ne sont|n'apparaissent)(?: pas)?
      (?: (?:mentionnée?s?|indiquée?s?|précisée?s?|donnée?s?|décrite?s?))?(?: nulle part)? (?:dans
      |par) {docs}
    | (?:cela|ce|c'|la réponse|cette {info}) ?n'(?:est|apparaît|figure) pas(?: (?:mentionnée?
      |indiquée?|précisée?|dite?|donnée?|claire?|disponible))?(?: (?:dans|par) {rest})?
    | aucune {info}(?: {rest})?
    | il n'y a (?:pas|aucune?|rien) ?(?:d'|de )?(?:{info}|mention|sur|à)(?: {rest})?
    | (?:rien|aucun) (?:dans|de|des) {docs} n(?:e |'en |')(?:le )?(?:parle|mentionne|dit|indique
      |précise|permet|répond)(?: {rest})?
    | inconnue?|non (?:précisée?|mentionnée?|indiquée?|disponible|communiquée?)
    """,
    referral=r"""
    (?:(?:il (?:est|serait|vaut) (?:\S+ )?(?:conseillé|recommandé|préférable|mieux|important)
      (?: de)?|je (?:vous |te )?(?:recommande|conseille|suggère)(?: de| d')?|veuillez|merci de
      |vous (?:pouvez|devriez|devez)|tu (?:peux|devrais)|n'hésitez pas à|pensez à|aussi|toujours) )*
    (?:
      (?:(?:contact|consult|appel|demand)(?:er|ez|e|le|lez)|(?:parl|adress)(?:er|ez)(?:-vous)? (?:à
        |avec|au)|voir|voyez) (?=.*\b(?:médecins?|docteurs?|pharmaciens?|avocats?|notaires?
        |professionnels?|experts?|spécialistes?|autorités?|police|urgences?|service client|support
        |assistance|fabricant|vendeur|fournisseur|conseiller|équipe)\b){rest}
      | (?:(?:consult|vérifi|visit|regard|utilis|cherch)(?:er|ez|e)|voir|lire|lisez
        |(?:se )?référ(?:er|ez-vous) à) (?=.*\b(?:sites?|site web|pages?|application|appli
        |documentation|manuel|guide|sources?|internet|en ligne|web|moteur de recherche|actualités
        |prévisions|officiel(?:le)?s?)\b){rest}
      | vérifi(?:er|ez|e) (?:ces|cette|cela)(?: {info})?
      | pour (?:plus|davantage|obtenir|de plus|des|toute question) {rest}
    )
    """,
    question=r"""
    .*\b(?:vous|votre|vos|tu|ton|tes)\b|(?:pouvez|pourriez|peux|pourrais|voulez|voudriez|souhaitez
      |souhaites|veux|avez|as|puis|aimeriez|êtes|es)-(?:vous|tu|je)\b
    | (?:de |à |sur |avec )?(?:que|quels?|quelles?|comment|où|quand|quoi
      |est-ce que) (?:\S+ ){0,4}\S*(?:vous|tu|je)\b
    """,
    opener=r"""
    mais|et|ou|donc|cependant|malheureusement|(?:veuillez |à )?not(?:er|ez) que|je crains que
    """,
    documents=r"""
    (?:les?|la|ces?|cette|vos|votre|l'|aucun des) ?(?:(?:présents?|fichiers?) )?(?:documents?
      |contexte|textes?|sources?|manuel|guide|extraits?|documentation|brochure|bail|devis|contrat
      |rapport|fichiers?|notice|pages?)(?: (?:fournis?|donnés?|fournies?|joints?|ci-dessus
      |que vous avez \S+))?
    """,
    information=r"""
    informations?|données|détails|accès|réponses?|précisions?|renseignements?|indications?
    """,
    attributes="""
    adresse âge auteur but cause coût couleur date délai durée hauteur lieu montant nom nombre poids
    prix raison sujet taille tarif titre valeur année
    """,
    definites="le la les l du au aux",
    others="pourquoi son sa ses leur leurs lui dont elle elles",
    interrogatives="qui que quand où combien comment quel quelle quels quelles",
    claims="""
    qui que qu'il qu'elle dont où car parce est sont était étaient fut a ont été né née mort mais
    cependant lequel laquelle puisque comme
    """,
)

SPANISH: Final = Phrases(
    polite=r"""
    (?:hola|bienvenid[oa]s?|saludos)(?: (?:a todos|de nuevo))?|buen(?:os|as) (?:días|tardes|noches)
      |adiós|hasta (?:luego|pronto|mañana|la vista)|cuídate|nos vemos|ah|oh|bueno|pues
    | (?:muchas |muchísimas )?gracias(?: (?:por {rest}|a ti))?|de nada|con (?:mucho )?gusto
    | un placer|encantad[oa]|no hay de qué|(?:que (?:tengas|tenga) (?:un )?)?buen día
    | (?:cómo|qué tal)(?: (?:estás|está|te va))?|(?:estoy )?(?:muy )?bien|y (?:tú|usted)
    | (?:en qué|cómo) (?:te |le )?puedo {rest}|(?:es una )?(?:muy )?(?:buena|excelente
      |gran) pregunta
    | espero (?:que )?(?:esto|te|le|haber\w*|sea|ayude)(?: {rest})?|buena suerte
    | (?:avísame|dime|hazme saber|no dud(?:es|e) en)(?: {rest})?|(?:(?:te|le|os) )?puedo ayudar(?:te
      |le)? (?:en|con) {rest}
    | (?:hay )?(?:algo|alguna cosa) más en (?:lo )?que {rest}|quieres que te {rest}
    | (?:no hay|ningún|sin) problema|entendido|de acuerdo|buen (?:punto|viaje|provecho)
    | por (?:favor|supuesto)|(?:eso )?depende|(?:déjame|permíteme|déjeme) (?:explicar|ver|pensar
      |comprobar)(?:te|lo|le)?(?: {rest})?|claro(?: que sí)?|que te diviertas
    | (?:puedo|estaré encantad[oa] de|estoy aquí para) (?:ayudar|explicar|dar
      |proporcionar)\S*(?: {rest})?|si (?:quieres|deseas|necesitas|tienes|quiere|desea|necesita
      |tiene) {rest}
    | (?:atentamente|saludos cordiales|un (?:cordial )?saludo)|aquí (?:tienes|está|estoy)
    | (?:quedo|estoy) a (?:tu|su) (?:entera )?disposición
    """,
    disclaimer=r"""
    nota|aviso|lo (?:siento|lamento)(?: mucho)?|disculp[ae]|perdón|perdona|lamentablemente
    | desafortunadamente|como (?:ia|modelo de lenguaje|inteligencia artificial|asistente)
    | (?:esto|est[ae]s? {info}) no (?:es|son|constituyen?|sustituyen?|reemplazan?) (?:\S+ ){0,3}?
      (?:asesoramiento|asesoría|consejo|recomendación|consulta|opinión|diagnóstico)(?: {rest})?
    | (?:(?:est[ae]|mi|la)s? {info}(?: \w+d[oa]s?)?) (?:puede[n]? (?:estar|ser) (?:desactualizad
      |incomplet|inexact|obsolet)[oa]s?|(?:es|son) (?:solo |únicamente )?(?:orientativ\w+
      |general(?:es)?|para fines {rest}))|esta {info} se basa en {docs}
    | por favor (?:proporciona|proporcione|indica|indique|aclara|aclare) {rest}
    | (?:me disculpo|pido disculpas|mis disculpas)(?: por {rest})?|(?:según|en) {docs}
    """,
    refusal=r"""
    (?:yo )?no (?:lo |le |te |me )?(?:tengo|dispongo|encuentro|conozco|sé|puedo|logro|consigo
      |entiendo|consta|he encontrado|encontré|hallé|cuento con|estoy segur[oa]|soy (?:capaz
      |(?:una? )?(?:médic[oa]|abogad[oa]|expert[oa]|profesional|human[oa])))(?: {rest})?
    | no (?:he hallado|se ha encontrado|se (?:encontró|encontraron|encuentra)) (?:nada|ninguna?
      |{info}|esa|esta)(?: {rest})?|ni idea|(?:lo )?(?:desconozco|ignoro)(?: (?:ese|este|el|la|esa
      |esta) (?:{info}|cifra|fecha|nombre))?
    | (?:eso|esto) (?:está fuera de|escapa a|excede) {rest}
    """,
    silence=r"""
    {docs} no (?:l[oa]s? )?(?:dicen?|mencionan?|especifican?|indican?|hablan?|explican?|recogen?
      |precisan?)(?: (?:nada|ninguna))?(?: {rest})?
    | {docs} no (?:contienen?|incluyen?|proporcionan?|ofrecen?|dan?|aportan?) (?:(?:esa|esta|ninguna
      |nada|más) ?)*(?:{info})?(?: (?:sobre|acerca|de) {rest})?
    | (?:{rest} )?(?:(?:eso|esto|la respuesta|esa {info}) )?no (?:se (?:menciona|indica|dice
      |especifica|describe|da|encuentra)|aparece|figura|consta|está (?:indicad|mencionad
      |especificad)[oa])n? (?:en|por) {docs}(?: \S+)?
    | (?:(?:eso|esto|la respuesta|es[ea] {info}) )?no (?:se (?:menciona|indica|dice|especifica)
      |aparece|figura|consta|está(?: disponible)?)
    | en {docs} no (?:se )?(?:menciona|indica|dice|especifica|habla|aparece|figura|encuentra|precisa
      |hay (?:nada|{info}|mención))n?(?: {rest})?
    | no hay (?:ninguna )?(?:{info}|mención|nada)(?: {rest})?
    | (?:ese|este|esa|esta|la) {info} no (?:está disponible|es pública|aparece|figura|consta)
      (?: {rest})?
    | desconocid[oa]|no (?:especificad|indicad|mencionad)[oa]|no disponible
    """,
    referral=r"""
    (?:(?:por favor|siempre|también|(?:te|le|os) (?:recomiendo|sugiero|aconsejo)(?: que)?
      |(?:recomiendo|sugiero)|(?:puedes|deberías|debes|puede|debería)|es (?:mejor|recomendable
      |aconsejable|importante)) )*
    (?:
      (?:consult|llam|contact|pregunt|habl|acud|visit)(?:a|e|es|ar|ir|ad|en|as)?(?: (?:a|con
        |al))? (?=.*\b(?:médic[oa]s?|doctor(?:a|es)?|farmacéutic[oa]|abogad[oa]s?|profesional(?:es)?
        |notario|expert[oa]s?|especialistas?|autoridad(?:es)?|policía|emergencias?
        |atención al cliente|soporte|fabricante|vendedor|proveedor|asesor|equipo)\b){rest}
      | (?:(?:consult|visit|revis|mir|verific|comprueb|comprob|us|busc)(?:a|e|es|ar|as)|lee|lea|leer
        |ve a|ver) (?=.*\b(?:sitios?|sitio web|web|páginas?|aplicación|app|documentación|manual|guía
        |fuentes?|internet|en línea|buscador|noticias|pronóstico|oficial(?:es)?)\b){rest}
      | (?:verifi(?:ca|que)|comprueb[ae]) (?:esta|esto|estos)(?: {info})?
      | para (?:más|mayor|obtener|información) {rest}
    )
    """,
    question=r"""
    .*\busted(?:es)?\b|(?:puedes?|podrías?|quieres?|quisieras?|(?:te|le) gustaría|deseas?|necesitas?
      |tienes?|has|puedo) \S
    | (?:(?:a|de|con|sobre|en|para) )?(?:qué|cuál|cuáles|cómo|cuándo|dónde) (?:\S+ ){0,4}(?:usted
      |puedo|quieres?|necesitas?|deseas?|tienes?|te|le|tu|su|se|estás|está|hablas|habla|usas?)\b
    | (?:te|se) refieres? a \S
    """,
    opener=r"pero|y|o|por tanto|lamentablemente|ten(?:ga)? en cuenta que|lo siento",
    documents=r"""
    (?:el|la|los|las|estos?|estas?|tus?|sus?|ningun[oa] de l[oa]s) (?:(?:presente) )?(?:documentos?
      |contexto|textos?|fuentes?|manual|guía|extractos?|documentación|contrato|informe|archivos?
      |folleto)(?: (?:proporcionad[oa]s?|dad[oa]s?|facilitad[oa]s?|adjunt[oa]s?|suministrad[oa]s?))?
    """,
    information=r"información|datos?|detalles?|acceso|idea|respuestas?|suficiente|específica|respecto",
    attributes="""
    altura año autor cantidad causa color coste costo dirección duración edad fecha importe lugar
    motivo nombre número peso plazo precio razón tamaño tema título valor
    """,
    definites="el la los las del al",
    others="porqué su sus él ella ellos ellas cuyo cuya",
    interrogatives="que quien quién qué cuál cuándo cuándo dónde cuánto cómo",
    claims="""
    que quien quienes cual donde porque pues es son era eran fue fueron ha han nació murió ganó pero
    aunque como está están
    """,
)

ITALIAN: Final = Phrases(
    polite=r"""
    (?:ciao|salve|benvenut[oaie])(?: a tutti)?|buon(?:giorno|asera|anotte)|buona (?:giornata|serata
      |notte|sera|fortuna)|arrivederci|a (?:presto|dopo|domani)|ah|oh|beh|allora
    | (?:molte |tante )?grazie(?: (?:mille|tante|a (?:te|lei)|per {rest}))?
    | prego|di (?:nulla|niente)|con piacere|piacere(?: di conoscerti)?|volentieri|cert(?:o|amente)
    | (?:è una )?(?:ottima|bella|buona) domanda|(?:spero|felice|lieto) (?:che|di|questo|ti)
      (?: {rest})?
    | (?:fammi|mi faccia) sapere(?: {rest})?|non esitare(?: {rest})?|(?:chiedi|chieda) pure
    | come (?:stai|sta|va)|(?:sto|tutto) (?:molto )?bene|e (?:tu|lei)
    | (?:come|in (?:che )?cosa|in che modo) posso {rest}
    | per favore|nessun problema|capito|va bene|buon (?:punto|viaggio|appetito|divertimento)|dipende
    | (?:fammi|lasciami|mi lasci) (?:spiegare|vedere|pensare|controllare)(?: {rest})?
    | (?:posso|sarò (?:felice|lieto) di|sono qui per) (?:aiutar|spiegar|dar|fornir)\S*(?: {rest})?
    | se (?:vuoi|desideri|hai|vuole|desidera|ha) {rest}|cordiali saluti|distinti saluti
      |ecco(?: a te)?
    | (?:resto|sono) a (?:tua|sua|vostra)? ?disposizione
    | (?:hai|ha) (?:altre|qualche altra) domand[ae]|c'è altro (?:che|in cui) {rest}
    """,
    disclaimer=r"""
    (?:nota|avvertenza|purtroppo|spiacente|scus[ai])|mi (?:dispiace|scuso|scusi)(?: molto)?
    | (?:questo|ciò|quest[ae] {info}) non (?:è|sono|costituisc(?:e|ono)|sostituisc(?:e
      |ono)) (?:\S+ ){0,3}?(?:consiglio|consulenza|parere|raccomandazione|diagnosi|visita)
      (?: {rest})?
    | (?:(?:quest[ae]|le mie|la mia) {info}) (?:potrebber?o? (?:non )?essere (?:obsolet|incomplet
      |inesatt|aggiornat)[aeio]|(?:è|sono) (?:solo )?(?:a titolo (?:puramente )?(?:indicativo
      |informativo)|general[ei]|indicativ[ae]))|questa {info} si basa su[il]? ?{docs}
    | (?:in quanto|come) (?:ia|modello linguistico|intelligenza artificiale|assistente)
    | per favore (?:fornisci|fornisca|specifica|specifichi) {rest}
    | (?:mi scuso|chiedo scusa|le mie scuse)(?: per {rest})?|(?:secondo )?{docs}
    """,
    refusal=r"""
    non (?:lo |ne |ti )?(?:ho|dispongo|trovo|conosco|so|posso|riesco|capisco|saprei|sono (?:in grado
      |sicur[oa]|una?))(?: {rest})?|nessuna idea|(?:questo|ciò) (?:va oltre|esula da|supera) {rest}
    """,
    silence=r"""
    {docs} non (?:lo |la |ne |li |le |ci |si )*(?:dic(?:e|ono)|menzionan?o?|specificano?|specifica
      |indica(?:no)?|parlan?o?|spiegan?o?|riporta(?:no)?|precisan?o?|(?:è|viene|vengono
      |sono) (?:indicat|riportat|menzionat|specificat)[oaie])(?: {rest})?
    | {docs} non (?:ci sono|c'è|fornisc(?:e|ono)|d[àa]|danno|contengono|contiene
      |trovan?o?) (?:(?:quest[ae]|alcuna?|nessuna?) )*(?:{info}|menzione)(?: {rest})?
    | (?:{rest} )?non (?:è|viene|vengono|sono|compare|risulta|figura) ?(?:(?:menzionat|indicat
      |specificat|riportat|descritt)[oaie])?(?: da)? {docs}(?: \S+)?
    | (?:(?:questo|ciò|(?:la|questa|tale|l') ?{info}) )?non (?:è|viene|compare|figura|si trova)
      (?: (?:menzionat|indicat|specificat|riportat|dett)[oa])(?: {rest})?
    | (?:(?:questa|tale|la) |l'){info} non (?:è (?:disponibile|pubblica|presente|indicata)|si trova
      |compare|figura)(?: {rest})?
    | non (?:ci sono|c'è) (?:alcuna )?(?:{info}|menzione)(?: {rest})?
    | sconosciut[oa]|non (?:specificat|indicat|menzionat|not)[oa]|non disponibile
    """,
    referral=r"""
    (?:(?:per favore|si (?:prega|consiglia|raccomanda) di|sempre|anche|(?:ti|le|vi) (?:consiglio
      |suggerisco|raccomando)(?: di)?|(?:consiglio|suggerisco)(?: di)?|(?:puoi|dovresti|può
      |dovrebbe)|è (?:meglio|consigliabile|importante)) )*
    (?:
      (?:(?:consult|chiam|contatt)(?:a|i|are)|chied(?:i|a|ere)(?: a[dl]?)?|parl(?:a|i|are) con
        |rivolg(?:iti|ersi|etevi) a\w*) (?=.*\b(?:medic[oi]|dottor(?:e|essa)|farmacista|avvocato
        |professionist[ai]|espert[oi]|specialist[ai]|notaio|autorità|polizia|emergenz[ae]|assistenza
        |supporto|servizio clienti|produttore|venditore|fornitore)\b){rest}
      | (?:(?:consult|visit|controll|verific|guard|us|cerc)(?:a|i|are)|legg(?:i|a|ere)|vedi
        |veda) (?=.*\b(?:sit[oi]|sito web|web|pagin[ae]|app|applicazione|documentazione|manuale
        |guida|font[ei]|internet|online|motore di ricerca|notizie|previsioni|ufficial[ei])\b){rest}
      | verific(?:a|hi) (?:quest[eio]|ciò)(?: {info})?
      | per (?:maggiori|ulteriori|più|informazioni) {rest}
    )
    """,
    question=r"""
    (?:puoi|può|potrebbe|potresti|vuole|vuoi|desideri|desidera|posso|vorresti|vorrebbe|hai) \S
    | (?:(?:a|di|con|su|in|per) )?(?:che|cosa|quale|quali|come|dove|quando) (?:\S+ ){0,4}(?:posso
      |vuoi|vuole|vorresti|desideri|ti|tu|lei|hai|stai|sta|si|usi|parli|parla|intendi|riferisci)\b
    | (?:intendi|intende|ti riferisci|si riferisce) \S
    """,
    opener=r"ma|e|o|quindi|purtroppo|tieni presente che|mi dispiace",
    documents=r"""
    (?:il|la|i|le|gli|lo|l'|quest[oiae]|nessuno dei|ne(?:l|i|lla|lle|gli)|da[il]|dagli) (?:\S+ )?
      (?:document[oi]|contesto|test[oi]|font[ei]|manuale|guida|documentazione|contratto|rapporto
      |file|estratt[oi]|opuscolo|brochure)(?: (?:fornit|allegat|dat)[oaie])?
    """,
    information=r"informazion[ei]|dat[oi]|dettagl[io]+|accesso|idea|risposta|risposte|nulla|niente|riguardo",
    attributes="""
    altezza anno autore causa colore costo data dimensione durata età importo indirizzo luogo motivo
    nome numero peso prezzo scadenza tema titolo valore
    """,
    definites="""
    dell nell all sull dall l il lo la i gli le del dellodella dei delle degli al alla agli alle
    """,
    others="perché suo sua suoi sue loro lui lei egli ella cui",
    interrogatives="che chi cosa quale quando dove come quanto quanti",
    claims="""
    che chi cui quale dove perché poiché è sono era erano fu furono ha hanno nato nata morto vinse
    ma però come
    """,
)

PORTUGUESE: Final = Phrases(
    polite=r"""
    (?:olá|oi|bem-vind[oa]s?|saudações)(?: (?:a todos|de novo))?|bo[ma] (?:dia|tarde|noite)
    | adeus|tchau|até (?:logo|breve|mais|amanhã)|ah|oh|bem|(?:muito )?obrigad[oa](?: (?:por
      |pel[oa]) {rest})?
    | (?:de|por) nada|disponha(?: sempre)?|(?:é )?um prazer|prazer em conhecê-l[oa]
    | (?:como (?:você )?(?:está|vai)|tudo bem)(?: com você)?|(?:estou|tudo) bem|e você
    | tenha um (?:bom|ótimo) dia|(?:é uma )?(?:boa|ótima|excelente) pergunta|boa (?:sorte|viagem)
    | espero (?:que|ter|te|ajudar)(?: {rest})?|(?:avise-me|me avise|diga-me|não hesite)(?: {rest})?
    | (?:como|em que|no que) posso {rest}|por favor|(?:sem|nenhum) problema|entendi(?:do)?
    | combinado|bom (?:ponto|apetite)|depende|claro|com certeza|estou aqui|aqui está|atenciosamente
    | (?:deixe-me|me deixe|vamos) (?:explicar|ver|pensar|verificar)(?: {rest})?
    | (?:posso|(?:ficarei |fico )?feliz em|estou aqui para) (?:poder )?(?:ajud|explic|fornec
      |dar)\S*(?: {rest})?|se (?:você )?(?:quiser|desejar|precisar|tiver) {rest}
    | (?:é só|basta) (?:avisar|perguntar|chamar|dizer)|(?:fico|estou) (?:à
      |a sua) (?:sua )?disposição
    | qualquer (?:dúvida|coisa)|(?:você )?tem (?:mais )?(?:alguma|outra) (?:outra )?(?:dúvida
      |pergunta)|há (?:algo|alguma coisa) mais {rest}
    """,
    disclaimer=r"""
    (?:nota|aviso|infelizmente|perdão)|(?:sinto|lamento)(?: muito)?|desculp[ae]
    | (?:isto|isso|est[ae]s? {info}) não (?:é|são|constitu(?:i|em)|substitu(?:i|em)) (?:\S+ ){0,3}?
      (?:aconselhamento|conselho|recomendação|consulta|opinião|diagnóstico|orientação)(?: {rest})?
    | (?:(?:est[ae]|minhas?|as)s? {info}) pode[m]? (?:não )?(?:estar|ser) (?:desatualizad|incomplet
      |incorret|atualizad)[oa]s?|esta {info} (?:se baseia|é baseada) ?{docs}
    | (?:est[ae]s? {info}) (?:é|são) (?:apenas |somente )?(?:gera(?:l|is)|para fins {rest})
    | como (?:uma? )?(?:ia|modelo de linguagem|inteligência artificial|assistente)
    | por favor (?:forneça|informe|especifique|esclareça) {rest}
    | (?:peço desculpas?|minhas desculpas)(?: (?:por|pelo|pela) {rest})?|(?:segundo )?{docs}
    """,
    refusal=r"""
    (?:eu )?não (?:o |lhe |te )?(?:tenho|disponho|encontrei|encontro|conheço|sei|posso|consigo
      |consegui|pude|entendi|entendo|sou (?:capaz|(?:uma? )?(?:médic[oa]|advogad[oa]|especialista
      |profissional|human[oa]))|estou cert[oa])(?: {rest})?|não faço ideia
    | (?:isso|isto) (?:está fora|foge|vai além) {rest}
    | (?:eu )?desconheço(?: (?:ess[ae]|est[ae]|[oa]) {info})?
    | não (?:é|foi) possível (?:responder|determinar|saber|encontrar|afirmar|informar)(?: {rest})?
    """,
    silence=r"""
    {docs} não (?:[oa] |se )?(?:diz(?:em)?|menciona(?:m)?|especifica(?:m)?|indica(?:m)?|fala(?:m)?
      |informa(?:m)?|respondem?|abordam?|(?:é|são) (?:mencionad|indicad|especificad|descrit
      |informad)[oa]s?)(?: (?:nada|nenhuma))?(?: {rest})?
    | {docs} não (?:há|cont(?:é|ê)m|traz(?:em)?|forne(?:ce|cem)|d[áã]o?) (?:(?:ess[ae]|est[ae]
      |nenhuma) )*(?:{info}|menção|nada)(?: {rest})?
    | (?:{rest} )?não (?:é|são|está|estão|aparece|consta|figura) ?(?:(?:mencionad|indicad
      |especificad|descrit|informad)[oa]s?)?(?: por)? {docs}(?: \S+)?
    | (?:(?:isso|isto|(?:a|essa|esta) {info}) )?não (?:é (?:mencionad|indicad)[oa]|consta|aparece
      |está(?: disponível)?)
    | (?:essa|esta) {info} não está (?:disponível|n[oa]s? {rest})|não há (?:nenhuma )?(?:{info}
      |menção|nada)(?: {rest})?
    | desconhecid[oa]|não (?:especificad|indicad|mencionad|informad)[oa]|não disponível
    """,
    referral=r"""
    (?:(?:por favor|sempre|também|(?:recomendo|sugiro|aconselho)(?: que)?(?: você)?|(?:você )?
      (?:pode|deve|deveria)|é (?:melhor|recomendável|aconselhável|importante)) )*
    (?:
      (?:consult|procur|contat|contact|lig|pergunt|fal)(?:e|a|ar|em|ue)(?: (?:a|com|para
        |ao))? (?=.*\b(?:médic[oa]s?|doutora?|farmacêutic[oa]|advogad[oa]s?|profissiona(?:l|is)
        |especialistas?|autoridades?|polícia|emergências?|atendimento|suporte|fabricante|vendedor
        |fornecedor|equipe)\b){rest}
      | (?:(?:consult|visit|verifi[cq]u?|us|procur|acess)(?:e|a|ar)|ve(?:ja|r)|leia
        |ler) (?=.*\b(?:sites?|páginas?|aplicativo|app|documentação|manual|guia|fontes?|internet
        |online|web|notícias|previsão|oficial)\b){rest}
      | verifique (?:est[ae]s?|isso)(?: {info})?
      | para (?:mais|maiores|obter|informações) {rest}
    )
    """,
    question=r"""
    .*\bvocês?\b|(?:você )?(?:pode|poderia|podes|quer|gostaria|deseja|precisa|posso|tem|já) \S
    | (?:(?:a|de|em|sobre|com|para) )?(?:o que|que|qual|quais|como|onde|quando) (?:\S+ ){0,4}(?:você
      |posso|gostaria|deseja|quer|se refere|está|fala|tens|tem)\b
    | você (?:se refere|quer dizer|fala|está falando)\b
    """,
    opener=r"mas|e|ou|portanto|infelizmente|(?:note|lembre-se de) que|desculpe",
    documents=r"""
    (?:o|a|os|as|estes?|estas?|n[oa]s?|seus?|pel[oa]s?|nenhum dos) (?:documentos?|contexto|textos?
      |fontes?|manual|guia|documentação|contrato|relatório|arquivos?|trechos?|folheto)
      (?: (?:fornecid|anexad|dad|enviad)[oa]s?)?
    """,
    information=r"""
    informaç(?:ão|ões)|dados?|detalhes?|acesso|ideia|respostas?|suficientes|específicas|certeza
    """,
    attributes="""
    altura ano autor causa cor custo data duração endereço idade local motivo nome número peso prazo
    preço razão tamanho tema título valor
    """,
    definites="o a os as do da dos das no na nos nas ao à aos às",
    others="porquê seu sua seus suas dele dela deles delas ele ela eles elas cujo cuja",
    interrogatives="que quem qual quais quando onde como quanto",
    claims="""
    que quem qual onde porque pois é são era eram foi foram tem têm nasceu morreu ganhou mas porém
    como está
    """,
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
