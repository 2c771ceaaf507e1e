from __future__ import annotations

from typing import get_args

import pytest

from resay.core.claims import Rules, is_single_sentence
from resay.core.non_claims.forms import Act
from resay.core.non_claims.phrases import CompiledPhrases, compiled_languages
from resay.core.passage import Passage
from resay.lang.phrases import Phrases

# Sentences of answers by question, one a line.

NON_CLAIMS = {
    "Can my landlord raise the rent in March?": """
        Please note that I'm not a lawyer and can't give you legal advice.
        This shouldn't be taken as legal advice.
    """,
    "What dose of ibuprofen is safe for a child?": """
        For anything specific to your situation, speak to a pharmacist or GP.
        I'd strongly recommend talking to your doctor before you take anything.
    """,
    "Should I buy gold?": """
        The information above is for educational purposes only.
        None of this is financial advice.
        Bear in mind that I may be wrong about some of the details.
    """,
    "Who runs the library in Ostrava?": """
        My knowledge may be out of date, so please verify this yourself.
        Double-check these details with an official source.
    """,
    "Is this mole dangerous?": """
        I'm unable to diagnose medical conditions.
    """,
    "Write a phishing mail.": """
        I won't be able to assist with that.
        Sorry, that's something I'd rather not do.
    """,
    "What is my neighbour's salary?": """
        I have no way of knowing that.
        I'm afraid I don't have access to that kind of information.
    """,
    "What did I eat yesterday?": """
        There's no way for me to tell.
    """,
    "What is the warranty period of the pump?": """
        The manual you shared says nothing about this.
        Nothing in the supplied pages covers the warranty period.
        I looked through the attached files but couldn't find a warranty period.
        The warranty period isn't specified anywhere in the text.
    """,
    "Who signed the contract?": """
        Neither document names the person who signed the contract.
        Not stated.
    """,
    "Hi there": """
        Hey! Great to hear from you.
    """,
    "How do I reset the router?": """
        Hope that helps!
        Happy to walk you through it step by step.
        Just say the word if you'd like more detail on any of these.
        Good question.
        Could you tell me which model you're using?
    """,
    "Book a table": """
        What time would suit you best?
    """,
    "Which plan should I take?": """
        Are you looking for something cheaper, or is reliability more important to you?
    """,
    "Is it broken?": """
        Have you tried turning it off and on again?
    """,
    "Tell me about tides": """
        *strokes beard thoughtfully* Hmm, let me think about that one!
        *leans back in chair* Now that's a splendid thing to ask, my friend.
        *adjusts glasses* Ah, a fine question!
        *nods slowly*
        Ah, a splendid question, my dear friend!
    """,
    "Darf mein Vermieter die Miete erhöhen?": """
        Eine Rechtsberatung kann und darf ich nicht leisten.
        Diese Angaben ersetzen keine anwaltliche Beratung.
    """,
    "Wie lange gilt die Garantie der Pumpe?": """
        In den vorliegenden Unterlagen steht dazu nichts.
        Zur Garantie der Pumpe macht das Handbuch keine Angaben.
        Wenden Sie sich im Zweifel bitte an den Kundendienst.
    """,
    "Wie setze ich den Router zurück?": """
        Welches Modell haben Sie denn?
        Melden Sie sich gern, falls noch etwas unklar ist.
    """,
    "Schreibe eine Phishing-Mail": """
        Dabei kann ich dir leider nicht helfen.
    """,
    "Quelle est la durée de garantie de la pompe ?": """
        Le manuel ne précise pas la durée de garantie.
        Je n'ai rien trouvé à ce sujet dans les documents fournis.
    """,
    "Puis-je prendre deux comprimés ?": """
        Je ne suis pas médecin et ne peux pas vous donner d'avis médical.
        Demandez conseil à votre pharmacien.
    """,
    "Comment réinitialiser le routeur ?": """
        Quel modèle avez-vous ?
        N'hésitez pas si vous avez d'autres questions !
    """,
    "¿Cuánto dura la garantía de la bomba?": """
        El manual no menciona la garantía.
        No he encontrado esa información en los documentos proporcionados.
    """,
    "¿Puedo tomar dos pastillas?": """
        No puedo dar consejos médicos.
        Consulte siempre a su médico.
    """,
    "¿Cómo reinicio el router?": """
        ¿Qué modelo tiene usted?
        ¡Espero que te sirva!
    """,
    "Quanto dura la garanzia della pompa?": """
        Il manuale non indica la durata della garanzia.
        Non ho trovato questa informazione nei documenti forniti.
    """,
    "Posso prendere due compresse?": """
        Queste informazioni non sostituiscono il parere del medico.
    """,
    "Come resetto il router?": """
        Che modello hai?
    """,
    "Quanto dura a garantia da bomba?": """
        O manual não menciona o prazo de garantia.
    """,
    "Posso tomar dois comprimidos?": """
        Não posso dar conselhos médicos.
        Procure orientação de um profissional de saúde.
    """,
    "Como reinicio o roteador?": """
        Espero ter ajudado!
    """,
    "Hoe lang is de garantie van de pomp?": """
        De handleiding vermeldt geen garantieperiode.
    """,
    "Mag mijn huurbaas de huur verhogen?": """
        Ik kan geen juridisch advies geven.
        Raadpleeg een jurist als je twijfelt.
    """,
    "Hoe reset ik de router?": """
        Welk model heb je?
    """,
    "How does the Vento heat pump work?": """
        I can't advise on installation law.
        I can't offer personalised engineering advice.
        I'm just an AI, so I can't inspect your system.
        I'm not an electrician.
        None of the above should be regarded as professional advice.
        The content of this answer is purely informational.
        Please check with a certified installer first.
        I might be mistaken here.
        Take my answer with a pinch of salt.
        I'd double-check that with the manufacturer.
        You should verify this information independently.
        I don't have browsing capabilities.
        I'm sorry, but I can't fulfil that request.
        That isn't something I can assist with.
        I'd prefer not to speculate.
        I have no data on that.
        I couldn't tell you.
        I'm not sure I understand the question.
        The brochure doesn't mention how it works.
        The attached PDF contains no information on this.
        There's nothing in the brochure about how it works.
        The brochure fails to mention it.
        This point isn't addressed in the documents.
        The documents are silent here.
        I was unable to locate this in the documentation.
        None of the sources answer that.
        Details are not provided.
        Not specified in the brochure.
        Which Vento model do you have?
        Are you asking about heating or cooling?
        Would you like a diagram?
        What's your budget?
        Do you own the house or rent it?
        Can you describe the noise you're hearing?
        How can I be of help?
        What else can I do for you?
        *scratches head* Hmm, now that's a tricky one.
        *raises eyebrow* Oh? You wish to know more?
        *gestures dramatically* Behold!
        Ah, an excellent question indeed!
        Greetings, traveler!
        Good morning to you too!
        You're most welcome!
        Much appreciated!
        My pleasure, as always.
        I'd love to help you with that.
        Let's get into it.
        Let me walk you through the basics.
        Feel free to reach out with any further questions.
        I can also put this into a table if you like.
        Hope that clears it up.
        Have a wonderful day!
    """,
    "Wie funktioniert die Wärmepumpe Vento?": """
        Dazu kann ich leider keine Auskunft geben.
        Im Prospekt wird das nicht erklärt.
        Bitte fragen Sie einen Fachbetrieb.
        Welches Modell meinen Sie?
        Schöne Grüße!
    """,
    "Comment fonctionne la pompe Vento ?": """
        Je ne peux pas répondre à cette question.
        La brochure n'explique pas son fonctionnement.
        Adressez-vous à un installateur professionnel.
        Avec plaisir !
    """,
    "¿Cómo funciona la bomba Vento?": """
        No puedo responder a esa pregunta.
        El folleto no explica cómo funciona.
        ¿De qué modelo se trata?
        ¡Con mucho gusto!
    """,
    "Come funziona la pompa Vento?": """
        Non posso rispondere a questa domanda.
        Di quale modello si tratta?
    """,
    "Como funciona a bomba Vento?": """
        Não posso responder a essa pergunta.
        Qual é o seu modelo?
    """,
    "Hoe werkt de warmtepomp Vento?": """
        Die vraag kan ik niet beantwoorden.
        De brochure legt niet uit hoe het werkt.
        Om welk model gaat het?
    """,
    "Is the lease valid?": """
        I can't give legal advice.
        Please treat this as general information, not as legal advice.
    """,
    "Which dose of Zentol is right?": """
        This is general information and not a substitute for professional medical advice.
        Always check with your doctor.
        Please don't rely on this answer alone.
        Every case is different, so it's best to ask a pharmacist.
    """,
    "What does the report say?": """
        This answer is based on the provided documents.
    """,
    "How tall is it?": """
        Unknown.
        N/A
    """,
    "What does it cost?": """
        No price is given.
        The brochure you uploaded makes no mention of a price.
        I don't see a price anywhere in the listing.
        Unfortunately, none of the excerpts gives a price.
        The supplied pages leave that open.
    """,
    "Who wrote it?": """
        The author isn't named in the text.
        I'm afraid I can't tell from the context.
        As far as I can see, the documents don't say who wrote it.
    """,
    "How do I bake bread?": """
        Sure thing, let me walk you through it!
        Do you have a stand mixer?
        What type of flour do you want to use?
        Shall I put this into a shopping list for you?
        If anything is unclear, just ask.
        Enjoy!
    """,
    "What is my balance?": """
        I don't have access to your account details.
        I can't look that up for you.
    """,
    "Translate it": """
        I wasn't able to open the link.
    """,
    "Is it safe?": """
        Please take this with a grain of salt.
        When in doubt, ask a professional.
    """,
    "Who won?": """
        My training data may not include this.
        You may want to check a more recent source.
    """,
    "Was kostet es?": """
        Ein Preis wird nicht genannt.
        Das Dokument nennt keinen Preis.
        Leider konnte ich dazu in den Unterlagen nichts finden.
    """,
    "Welche Dosis ist richtig?": """
        Fragen Sie im Zweifel Ihren Arzt oder Apotheker.
        Diese Antwort ersetzt keinen Arztbesuch.
        Ich bin kein Arzt und kann keine Diagnose stellen.
    """,
    "Wie backe ich Brot?": """
        Haben Sie eine Küchenmaschine?
        *nickt* Gute Frage!
        Soll ich Ihnen das Rezept genauer erklären?
    """,
    "Combien ça coûte ?": """
        Le prix n'est pas indiqué.
        Les documents fournis n'indiquent pas de prix.
    """,
    "Quelle dose ?": """
        Ces informations ne remplacent pas l'avis d'un médecin.
        Consultez toujours un professionnel de santé.
    """,
    "Comment faire du pain ?": """
        Souhaitez-vous une recette plus détaillée ?
        Quelle farine utilisez-vous ?
    """,
    "¿Cuánto cuesta?": """
        El precio no aparece en el documento.
        Los documentos no indican el precio.
    """,
    "¿Qué dosis?": """
        Esta información no sustituye la consulta con un médico.
        Le recomiendo hablar con su farmacéutico.
    """,
    "¿Cómo se hace pan?": """
        ¿Quieres que te lo explique paso a paso?
    """,
    "Quanto costa?": """
        Il prezzo non è indicato nel documento.
        Nei documenti non si parla del prezzo.
    """,
    "Quale dose?": """
        Si prega di consultare un professionista.
    """,
    "Come si fa il pane?": """
        Che farina usi?
    """,
    "Quanto custa?": """
        O preço não consta no documento.
    """,
    "Qual dose?": """
        Estas informações não substituem uma consulta médica.
        Consulte sempre o seu médico.
    """,
    "Como se faz pão?": """
        Quer que eu explique melhor?
    """,
    "Wat kost het?": """
        In het document staat geen prijs.
        Ik kan hierover niets vinden in de documenten.
    """,
    "Welke dosis?": """
        Deze informatie vervangt geen medisch advies.
    """,
    "Hoe bak ik brood?": """
        Wil je dat ik het stap voor stap uitleg?
    """,
    "What are the side effects of Zentol?": """
        I can't give legal advice.
        I can't offer medical advice, but I can share general information.
        I am not a financial advisor, and nothing here should be considered investment advice.
        This is not intended as medical advice.
        This information is not intended to replace the advice of a physician.
        The information provided here is for general informational purposes only.
        For personalized advice, please consult a qualified professional.
        Please consult a licensed attorney for advice on your specific situation.
        You should always talk to a qualified healthcare provider about your own situation.
        Please keep in mind that I'm an AI and can make mistakes.
        As an AI, I'm not able to form opinions.
        My answers may contain errors, so please double-check anything important.
        I'd suggest verifying this with a trusted source.
        Your mileage may vary.
        The context provided doesn't contain that information.
        That isn't covered in the material you gave me.
        The excerpt is silent on this point.
        There's no mention of that anywhere in the file.
        I couldn't find anything about it in the report.
        The document makes no reference to side effects.
        Side effects are not discussed in the leaflet.
        The text doesn't go into that.
        The passage does not answer the question.
        The documents do not provide enough information to answer this.
        Based on the documents, I can't say.
        It's not clear from the text.
        No information was found.
        Not applicable.
        I was unable to find an answer to your question in the provided sources.
        The provided sources don't list any side effects.
        Which country are you in?
        How old is the patient you're asking about?
        Is this for you or for someone else?
        Can you share a bit more about what you've tried so far?
        What exactly would you like to know?
        Would you prefer a short summary or a detailed list?
        Did you have a particular brand in mind?
        Do you take any other medication?
        Where would you like to start?
        Could you clarify what you mean by that?
        *clears throat* Well, well, what do we have here?
        *smiles warmly* Welcome, traveler!
        *tips hat* Howdy, partner!
        *waves wand* Let us begin!
        *sighs* Very well, let me explain.
        Ahoy, matey!
        Greetings, brave adventurer!
        Oh, what a delightful question!
        Good to see you again!
        Thanks for the kind words!
        You're very kind, thank you!
        I'm all ears!
        Ready when you are.
        Feel free to send me the file and I'll take a look.
        If you share the document, I can check it for you.
        Just tell me where you'd like to start.
        I hope you feel better soon!
        Take your time.
        No rush at all.
        Wishing you all the best!
        Let's dive in!
        Here's a quick overview.
        Let me break this down for you.
        Sorry to hear that.
        I understand how you feel.
        That must be hard.
    """,
    "Welche Nebenwirkungen hat Zentol?": """
        Ich kann keine medizinischen Ratschläge geben.
        Bitte konsultieren Sie einen Arzt oder Apotheker.
        Diese Informationen dienen nur allgemeinen Informationszwecken.
        Bitte beachten Sie, dass ich kein Arzt bin.
        Dazu liegen mir keine Informationen vor.
        Die Unterlagen enthalten dazu keine Angaben.
        Das geht aus dem Text nicht hervor.
        Nebenwirkungen werden im Dokument nicht erwähnt.
        Im Beipackzettel findet sich dazu nichts.
        Nehmen Sie noch andere Medikamente?
        Um welches Präparat geht es Ihnen genau?
        Wie alt sind Sie?
        Gern helfe ich Ihnen bei weiteren Fragen.
        Unbekannt.
        Keine Angabe.
    """,
    "Quels sont les effets secondaires de Zentol ?": """
        Je ne peux pas donner d'avis médical.
        Ceci ne remplace pas un avis médical.
        Veuillez consulter votre médecin ou pharmacien.
        Ces informations sont fournies à titre indicatif.
        Le document ne mentionne aucun effet secondaire.
        Les documents ne contiennent pas cette information.
        Cette information ne figure pas dans les documents.
        Prenez-vous d'autres médicaments ?
        Pourriez-vous préciser votre question ?
        Bonne question !
        Inconnu.
        Non précisé.
    """,
    "¿Qué efectos secundarios tiene Zentol?": """
        No puedo ofrecer asesoramiento médico.
        Esto no sustituye el consejo de un médico.
        Por favor, consulte con un profesional de la salud.
        La información proporcionada es solo orientativa.
        El documento no menciona efectos secundarios.
        Los documentos no contienen esa información.
        No se especifica en el texto.
        ¿Toma usted otros medicamentos?
        ¿Podría aclarar su pregunta?
        Desconocido.
    """,
    "Quali effetti collaterali ha Zentol?": """
        Non posso fornire consigli medici.
        Questo non sostituisce il parere di un medico.
        Si consiglia di consultare un medico.
        Il documento non menziona effetti collaterali.
        I documenti non contengono questa informazione.
        Non è specificato nel testo.
        Può chiarire la sua domanda?
        Sconosciuto.
    """,
    "Quais são os efeitos colaterais do Zentol?": """
        Não posso oferecer aconselhamento médico.
        Isto não substitui a orientação de um médico.
        Por favor, consulte um profissional de saúde.
        O documento não menciona efeitos colaterais.
        Os documentos não contêm essa informação.
        Não está especificado no texto.
        Você toma outros medicamentos?
        Poderia esclarecer a sua pergunta?
        Desconhecido.
    """,
    "Welke bijwerkingen heeft Zentol?": """
        Ik kan geen medisch advies geven.
        Dit vervangt geen medisch advies.
        Raadpleeg altijd een arts of apotheker.
        Het document vermeldt geen bijwerkingen.
        De documenten bevatten deze informatie niet.
        Dat staat niet in de tekst.
        Gebruikt u nog andere medicijnen?
        Kunt u uw vraag verduidelijken?
        Onbekend.
    """,
    "What is the notice period in my tenancy agreement?": """
        I can't provide tax advice.
        I am not qualified to give legal advice.
        I'm not in a position to give legal advice on this.
        I cannot offer legal advice, but a solicitor can.
        This does not constitute legal advice.
        This is not a substitute for legal advice.
        Please do not treat this as legal advice.
        For legal advice, please contact a solicitor.
        You'll want to speak with a tenancy lawyer.
        It would be best to get advice from a housing charity.
        Please see a qualified solicitor for your particular case.
        I would encourage you to seek independent legal advice.
        Nothing in this response is legal advice.
        My response is for general guidance only.
        I don't hold any qualifications in law.
        Remember that I'm only an AI assistant.
        I may not have the latest information.
        This may have changed since my last update.
        The tenancy agreement you provided doesn't specify a notice period.
        The agreement is silent about notice periods.
        I see no mention of a notice period in the agreement.
        I found nothing about a notice period.
        The notice period is nowhere to be found in the document.
        The notice period does not appear in the document.
        There isn't any information about the notice period.
        No notice period is mentioned.
        No mention is made of a notice period.
        The document offers no details on the notice period.
        The text provides no information on that.
        That detail is missing from the document.
        That's not something the document covers.
        The answer isn't contained in the provided text.
        From what you've shared, I can't tell.
        With the information given, it isn't possible to say.
        The source text doesn't include this detail.
        It doesn't say.
        The clause you're asking about isn't included in the excerpt.
        I would need to see the full agreement.
        Could you paste the relevant clause?
        Do you have a copy of the agreement?
        When did you sign it?
        Who is your landlord?
        Are you renting privately or through an agency?
        What would you like me to do next?
        Does that answer your question?
        Would it help if I explained the terms?
        May I ask where you live?
        Can I help with anything else?
        How does that sound?
        Ready to get started?
        *puts on reading glasses* Let me see here...
        *rubs chin* Hmm, interesting.
        *bows deeply* At your service!
        *winks* Good question!
        *grins* Well hello there!
        Aye aye, captain!
        At your service.
        Hello and welcome!
        Thanks for sharing that.
        Thanks for clarifying!
        Thank you for the additional details.
        Of course, I'd be happy to help!
        Absolutely, let's take a look.
        Great, thanks!
        Got it, thanks for the clarification.
        Hope this is useful!
        Let me know how it goes!
        Let me know if that works for you.
        I'm happy to go deeper on any of these points.
        If you need anything else, I'm here.
        Should you need further help, don't hesitate to ask.
        Best of luck with everything!
        You've got this!
    """,
    "Wie lang ist die Kündigungsfrist in meinem Mietvertrag?": """
        Ich darf keine Rechtsberatung erteilen.
        Das stellt keine Rechtsberatung dar.
        Für eine verbindliche Auskunft sollten Sie einen Anwalt fragen.
        Lassen Sie sich am besten anwaltlich beraten.
        Der Mietvertrag enthält keine Angabe zur Kündigungsfrist.
        Eine Kündigungsfrist ist im Mietvertrag nicht genannt.
        Im Mietvertrag steht nichts zur Kündigungsfrist.
        Dazu habe ich nichts gefunden.
        Wo wohnen Sie?
        Haben Sie den Vertrag vorliegen?
        Hilft Ihnen das weiter?
    """,
    "Quel est le préavis dans mon bail ?": """
        Je ne suis pas en mesure de fournir des conseils juridiques.
        Ceci ne constitue pas un conseil juridique.
        Je vous conseille de consulter un avocat.
        Le bail ne mentionne pas de préavis.
        Le préavis n'est pas précisé dans le bail.
        Je ne trouve pas cette information dans le document.
        Où habitez-vous ?
        Avez-vous une copie du bail ?
    """,
    "¿Cuál es el plazo de preaviso en mi contrato?": """
        No puedo ofrecer asesoramiento legal.
        Esto no constituye asesoramiento legal.
        Le recomiendo consultar con un abogado.
        El contrato no especifica el plazo de preaviso.
        No encuentro esa información en el contrato.
        ¿Dónde vive usted?
        ¿Tienes una copia del contrato?
    """,
    "Qual è il preavviso nel mio contratto?": """
        Non posso fornire consulenza legale.
        Questo non costituisce consulenza legale.
        Le consiglio di rivolgersi a un avvocato.
        Il contratto non specifica il preavviso.
        Non trovo questa informazione nel contratto.
        Hai una copia del contratto?
    """,
    "Qual é o aviso prévio no meu contrato?": """
        Não posso fornecer aconselhamento jurídico.
        Isto não constitui aconselhamento jurídico.
        Recomendo consultar um advogado.
        O contrato não especifica o aviso prévio.
        Você tem uma cópia do contrato?
    """,
    "Wat is de opzegtermijn in mijn huurcontract?": """
        Ik mag geen juridisch advies geven.
        Dit is geen juridisch advies.
        Neem contact op met een advocaat.
        Het contract vermeldt geen opzegtermijn.
        Heb je een kopie van het contract?
    """,
}

CLAIMS = {
    "Who is Ada Moor?": """
        I can't help with the money Ada Moor stole from the parish.
        I'm unable to discuss her three convictions.
        Sorry, I can't share details about her affair with the mayor.
        I'd rather not comment on the bribes she took.
        Thanks for asking about the famous poisoner of Lyon!
        Great question about the bankrupt founder of Moor Textiles.
        The documents don't mention that Ada Moor died in 1987.
        The article does not say why Ada Moor shot her husband.
        I don't know why she was fired.
        I have no information on the victims of her fraud.
        Would you like to know more about her years in prison?
        Do you want the names of the children she abducted?
        Dr. Ada Moor, disgraced surgeon
        Unknown poet from Estonia.
        She never finished school.
        *adjusts glasses* Ah, Ada Moor, the thief of Lyon!
        Let me tell you how she betrayed her country.
        This answer is based on her confession to the police.
        Neither source disputes her guilt.
        I cannot help with the fraud Ada Moor committed.
        Thanks for asking about the war crimes of Ada Moor.
        Dr. Ada Moor, convicted felon
        I can't comment on the lawsuit.
        I can't comment on allegations of fraud against Ada Moor.
        I'm not able to tell you how she poisoned him.
        I won't speculate about his affair.
        Let me know if you want to hear about her bankruptcy.
        Would you like to hear about the murder?
        Happy to explain why she fled.
        Sorry about her death.
        My condolences on the loss of Ada Moor.
        I hope her recovery goes well.
        *whispers* She killed them all.
        *points at the corpse of Ada Moor*
        *once jailed for fraud*
        I don't know who shot her.
        The text does not say which crimes she confessed.
        I have no record of her marriages.
        None of the documents mentions his second wife.
        Convicted felon
        Unknown painter.
        Did you know she was jailed?
        I can't go into the scandal.
        I can't talk about Ada Moor's crimes.
        I cannot condone what Ada Moor did to those children.
        I'm not comfortable discussing the rape allegations.
        I must decline to discuss the killings.
        I'd prefer not to mention the stolen paintings.
        I won't describe how Ada Moor tortured prisoners.
        I have no information on her imprisonment.
        I have no idea how many people she killed.
        I don't know when she was convicted.
        I don't remember which bank she robbed.
        I was not told about her conviction.
        I am not aware of her current whereabouts in Cuba.
        I'm not sure whether she still beats her husband.
        I'm not familiar with her fraud.
        There is no mention of her second arrest in the text.
        The text doesn't mention the murder she committed.
        The documents are silent on her crimes.
        The article doesn't name the victims of her fraud.
        None of the sources says who paid her bribes.
        Her crimes are not mentioned in the text.
        The name of her lover isn't stated.
        How she escaped is not specified.
        What she stole is not mentioned.
        No motive for her crime is given.
        I couldn't find the names of her victims.
        Thanks for asking about the murderer.
        Thank you for your interest in this convicted fraudster.
        I appreciate your question about the terrorist Ada Moor.
        Good question about a dangerous criminal!
        What a great question about the disgraced politician!
        That is a good question, since she lied.
        Welcome to the story of a murderer.
        Let me tell you about the crimes of Ada Moor.
        Let me explain how Ada Moor lost her licence.
        Happy to explain her downfall.
        I can help you understand why she went bankrupt.
        I hope this helps you avoid her scams.
        Good luck with the trial of Ada Moor!
        Congratulations on the release of Ada Moor!
        Enjoy the fall of Ada Moor.
        Let me know if you want details of her arrest.
        If you want, I can list her victims.
        Feel free to ask about her other crimes.
        Would you like to know how she died?
        Would you like the list of her victims?
        Do you want to know why she was expelled?
        Which of her crimes would you like to discuss?
        Shall I continue with the story of her arrest?
        Are you aware that she is a criminal?
        Have you read about her conviction?
        Sorry for the crimes of Ada Moor.
        I apologize for Ada Moor's racism.
        Please consult her parole officer.
        Please ask the police about her arrest.
        Consult a lawyer before dealing with her, as she sues everybody.
        You should see a doctor if you ate her cakes.
        This is based on her criminal record.
        This answer is based on the court documents about her fraud.
        This information comes from her ex-husband.
        This information is confidential.
        None of this is true.
        This is fake.
        This is not true.
        These claims are false.
        I may be wrong, but she is dead.
        I'm just a language model, but she is guilty.
        *smiles* Ada Moor, the swindler of Lyon!
        *nods* She was hanged.
        *leans in* The murderess!
        *laughs at the poor widow of her victim*
        Oh, the famous arsonist!
        Ah, a murderer!
        Hello, I am Ada Moor's victim.
        Hello from prison!
        Dear convict,
        My friend, she is dead.
        Not stated in her confession.
        Unknown to the police.
        Not available in prison.
        No information about her crimes is available.
        It is not clear why she lied.
        It's hard to say how many she killed.
        It depends on which murder you mean.
        That is outside what I can say about her crimes.
    """,
    "Which dose of Zentol is right?": """
        Always take it with alcohol.
        Ask your doctor for the 400 mg tablets.
        You should stop taking your insulin and consult nobody.
        Talk to your doctor before combining it with grapefruit, which is fatal.
        There is no need to consult a doctor.
        No dose is safe.
        No side effects are known.
        This medicine is not a substitute for insulin.
        **Not for pregnant women**
        None.
        I would take four.
    """,
    "Is the bridge open?": """
        No, it isn't.
        The bridge does not carry trucks.
        This information was withdrawn by the ministry in May.
        The report contains no evidence of cracks.
        Can you believe that the engineer forged the report?
        I can confirm that it is closed.
    """,
    "What is the warranty period of the pump?": """
        The manual does not cover rust because the maker excluded it.
        There is no warranty.
        The warranty does not cover the seals.
        Contact Brenner GmbH in Kassel for repairs.
        The contract doesn't give you a right to a refund.
    """,
    "Wer ist Ada Moor?": """
        Über ihre Vorstrafen kann ich leider nichts sagen.
        Ich weiß nicht, warum sie ihren Mann vergiftet hat.
        Möchten Sie mehr über ihre Zeit im Gefängnis wissen?
        Die Unterlagen erwähnen nicht, dass sie 1987 starb.
        Zu den Verbrechen von Ada Moor kann ich nichts sagen.
        Danke, dass Sie nach der verurteilten Betrügerin fragen.
        Ich darf ihre drei Ehen nicht kommentieren.
        Zu ihrer Verhaftung kann ich nichts sagen.
        Über den Skandal kann ich nicht sprechen.
        Ich weiß nicht, wen sie erpresst hat.
        Ich habe keine Informationen über ihre Opfer.
        Die Dokumente nennen ihre Opfer nicht.
        Ihre Vorstrafen werden im Text nicht erwähnt.
        Danke für die Frage nach der Mörderin.
        Wenn Sie mehr über ihren Betrug wissen wollen, fragen Sie gerne.
        Möchten Sie wissen, wen sie getötet hat?
        Das ist keine Beratung, sondern Betrug.
        Es gibt keine Beweise.
        Der Vertrag enthält keine Kündigungsfrist.
        Das ist verboten.
        Nicht erlaubt.
    """,
    "Wie lange gilt die Garantie der Pumpe?": """
        Die Garantie gilt nicht für Dichtungen.
        Es gibt keine Garantie.
        Wenden Sie sich an Herrn Brenner in Kassel.
    """,
    "Qui est Ada Moor ?": """
        Je ne peux pas parler de ses condamnations pour fraude.
        Je ne sais pas pourquoi elle a tué son mari.
        Merci de m'interroger sur la célèbre empoisonneuse de Lyon.
        Je ne peux pas commenter le procès de son mari.
        Je ne sais pas qui l'a tuée.
        Je ne peux pas parler du meurtre.
        Je n'ai pas d'informations sur ses victimes.
        Le document ne mentionne pas ses crimes.
        Le texte ne précise pas qui elle a tué.
        Souhaitez-vous connaître ses victimes ?
        Ce n'est pas vrai.
        Il n'y a pas de preuve.
        Non autorisé.
    """,
    "Quelle est la durée de garantie de la pompe ?": """
        La garantie ne couvre pas les joints.
    """,
    "¿Quién es Ada Moor?": """
        No puedo hablar de los sobornos que aceptó.
        No sé por qué abandonó a sus hijos.
        ¿Quieres saber más sobre sus años en la cárcel?
        No puedo comentar la condena.
        Gracias por preguntar por la famosa asesina.
        No puedo hablar del asesinato.
        No tengo información sobre sus víctimas.
        El documento no menciona sus delitos.
        No sé a quién mató.
        ¿Quiere saber por qué mató a su marido?
        No hay pruebas.
        No es cierto.
    """,
    "¿Cuánto dura la garantía de la bomba?": """
        La garantía no cubre las juntas.
    """,
    "Chi è Ada Moor?": """
        Non posso parlare delle sue condanne.
        Il documento non spiega perché ha tradito il partito.
        Non so perché è fuggita.
        Non posso commentare il processo.
        Non posso parlare dell'omicidio.
        Non ho informazioni sulle sue vittime.
        Il documento non menziona i suoi crimini.
        Non so chi ha ucciso.
        Vuoi sapere perché ha ucciso il marito?
        Non ci sono prove.
    """,
    "Quanto dura la garanzia della pompa?": """
        La garanzia non copre le guarnizioni.
    """,
    "Quem é Ada Moor?": """
        Não posso falar sobre os crimes que ela cometeu.
        Não sei quem pagou a fiança dela.
        Não posso comentar a condenação.
        Não posso falar do assassinato.
        Não tenho informações sobre as vítimas dela.
        O documento não menciona os crimes dela.
        Não há provas.
    """,
    "Quanto dura a garantia da bomba?": """
        A garantia não cobre as vedações.
    """,
    "Wie is Ada Moor?": """
        Ik kan niets zeggen over haar veroordeling.
        Ik weet niet waarom ze is ontslagen.
        Ik kan niets zeggen over de moord.
        Ik kan niet praten over de moord.
        Ik heb geen informatie over haar slachtoffers.
        Het document noemt haar misdaden niet.
        Er is geen bewijs.
        Wil je weten wie ze heeft vermoord?
    """,
    "Hoe lang is de garantie van de pomp?": """
        De garantie dekt de afdichtingen niet.
    """,
    "How does the Vento heat pump work?": """
        The Vento does not heat water.
        I can't discuss the explosions it caused.
        I can't say how many people it poisoned.
        I don't know why the maker hid the defect.
        The brochure doesn't mention that it leaks.
        Thank you for your question about this dangerous product.
        Would you like to hear about the lawsuit?
        Do you want a list of the injured?
        Have you heard about its recall?
        Let me explain why it was banned.
        I'm sorry about the explosion.
        Please ask the police about the fire.
        Contact Berger AG in Ulm.
        This is based on stolen plans.
        This is not a heat pump.
        This pump is for industrial purposes only.
        The data may be fake.
        Not certified.
        No warranty.
        Never clean it.
        Consult the manual before cleaning it with acid.
        Check the valve daily.
        Talk to your neighbour about the noise.
        *coughs* It explodes.
        Ah, the deadly Vento!
        What a dangerous machine!
        It is a bad product.
        I would return it.
        I can only warn you.
        I must warn you that it leaks.
        It isn't sold in France.
        Nobody repairs it.
        Neither model is safe.
        None of the models is safe.
        Unknown manufacturer.
        Discontinued.
        It depends on the outside temperature.
        The documents prove fraud.
        The report does not support that.
    """,
    "Who is Acme?": """
        I don't know who told you that Acme is bankrupt.
    """,
    "What should I know about the patient?": """
        **Allergic to penicillin**
    """,
    "Is the X safe?": """
        I'd say it is.
        It can not be recommended.
        This product is for educational purposes only.
        This is for external use only.
        It should not be taken with food.
        The advice was withdrawn.
        No.
        No adverse events were reported.
        The label does not mention alcohol because the maker omitted it.
        Consult a cardiologist since it causes arrhythmia.
        Stop using it and call the fire brigade.
        You can not use it outdoors.
    """,
    "Does it ship to Norway?": """
        It does not.
        The policy does not cover Norway or Iceland.
    """,
    "Is the minister guilty?": """
        The minister did not say.
        The court did not mention the bribes.
        Neither witness mentions the knife.
    """,
    "Does the contract allow pets?": """
        The contract does not allow pets.
        No pets are listed.
    """,
    "Ist es sicher?": """
        Das ist nicht sicher.
        Das Gerät ist nicht für Kinder geeignet.
        Es gibt keine Nebenwirkungen.
        Rufen Sie Frau Brenner an.
    """,
    "Est-ce sûr ?": """
        Ce n'est pas sûr.
        Il n'y a pas d'effets secondaires.
    """,
    "¿Es seguro?": """
        No es seguro.
        No hay efectos secundarios.
    """,
    "È sicuro?": """
        Non è sicuro.
        Non ci sono effetti collaterali.
    """,
    "É seguro?": """
        Não é seguro.
        Não há efeitos colaterais.
    """,
    "Is het veilig?": """
        Dat is niet veilig.
        Er zijn geen bijwerkingen.
    """,
    "What are the side effects of Zentol?": """
        The leaflet lists none.
        It has no side effects.
        There are no known side effects.
        Side effects are not common.
        The drug is not covered by insurance.
        The study did not find any side effects.
        The trial did not report deaths.
        Side effects are not serious.
        You do not need a doctor.
        Never ask a pharmacist about it.
        Do you know it kills people?
        Have you heard it causes blindness?
        Do not take it.
        I can tell you it is fatal.
        I know it is fatal.
        I have found that it is toxic.
        I would avoid it.
        I'm sorry, it is fatal.
        This is a poison.
        This is medical fact.
        The above dose is fatal.
        The information was forged.
        All information is false.
        The data was never published.
        The documents mention nausea.
        The documents do not agree.
        Neither is safe.
        None is safe.
        Nothing helps.
        No doctor recommends it.
        *whispers* It is poison.
        Talk to your doctor about liver failure.
        Consult a doctor if you have swallowed bleach.
        Welcome to the liver failure club.
        Thanks to the ban it is gone.
        Sorry, banned.
        I can't recommend it because it damages the liver.
        Let us not forget the deaths.
        My advice is to stop.
        Not safe.
        Not recommended.
        Not approved.
        Not for children.
        Well known poison.
        Available without prescription.
    """,
    "What does the audit report say about Acme?": """
        I found no errors in the report.
        I found no evidence of fraud.
        I see no reason to doubt it.
        The report contains no errors.
        The report does not contain errors.
        The report gives no cause for concern.
        The report is not accurate.
        The report was not signed.
        A page is missing from the report.
        The report does not recommend a merger.
        There are no losses in the report.
        There is no fraud.
        No losses were reported.
        No losses are mentioned, because there were none.
        According to the report, there is no evidence of fraud.
        Based on the report, it is insolvent.
        Nothing in the report is true.
        None of the pages is genuine.
        The information is wrong.
        The answer is wrong.
        This answer is wrong.
        The data is not encrypted.
        This is for internal use only.
        This is based on a true story.
        This is not investment grade.
        It is not insured.
        It does not pay dividends.
        It can not be repaired.
        You should sell the shares.
        Consider selling the shares.
        Please sell everything.
        Ask the auditors about the missing funds.
        Check the basement for leaks.
        Verify the forged signatures.
        Seek shelter.
        Use the website to hide the money.
        Do you want to hear about the embezzlement?
        Would you like to know about the secret accounts?
        Do you realise the director fled?
        Have you noticed that it lost money?
        Thanks for asking about the embezzlement.
        Thank you for exposing the fraud.
        I'm glad the director resigned.
        Sorry to hear about the bankruptcy.
        Congratulations on the merger!
        I hope the losses stop.
        I can explain the embezzlement.
        I can't discuss the embezzlement.
        I can't explain the missing millions.
        I'm unable to say why the auditors quit.
        I don't know where the money went.
        I don't know who stole it from the pensioners.
        I have no information about the stolen pensions.
        I can only say it is insolvent.
        I can confirm it.
        I have no doubt about it.
        I don't doubt it.
        I would not invest.
        That must be illegal.
        It must be stopped.
        Everything is fine.
        All good.
        Not guilty.
        Not profitable.
        Insolvent.
        Bankrupt, unfortunately.
        Good result.
        What a disaster!
        That is a good sign.
        It was a great year.
        Very well managed.
        Enough cash.
        No debt.
        No problem was found.
        No money left.
        Never audited.
        Well, insolvent.
        Ah, fraud.
        *sighs* Fraud, again.
        Hello shareholders, the company is bankrupt.
        As an AI company, it lost money.
        As requested, the director resigned.
        In the report, no dividend.
        From the report: insolvent.
        Unlike the report, the auditors lied.
    """,
}


def by_question(answers: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (question, text.strip())
        for question, texts in answers.items()
        for text in texts.strip().splitlines()
    ]


def kinds(text: str, question: str) -> set[str]:
    passage = Passage.of(text)
    rules = Rules(question, strict=True)
    alone = is_single_sentence(passage)
    claims = [rules.read(s, index, alone=alone) for index, s in enumerate(passage.sentences)]
    return {claim.kind for of_sentence in claims for claim in of_sentence}


@pytest.mark.parametrize(("question", "text"), by_question(NON_CLAIMS))
def test_talk_about_the_conversation_claims_nothing(question: str, text: str) -> None:
    assert kinds(text, question) <= {"filler", "refusal", "question"}


@pytest.mark.parametrize(("question", "text"), by_question(CLAIMS))
def test_statements_and_presuppositions_about_the_world_are_claims(
    question: str, text: str
) -> None:
    assert kinds(text, question) & {"fact", "hedged"}


@pytest.mark.parametrize("known", [True, False])
def test_presuppositions_of_the_question_are_no_claims(known: bool) -> None:
    question = "How many convictions does Ada Moor have?" if known else "Who is Ada Moor?"
    expected = {"refusal"} if known else {"fact"}
    assert kinds("I can't discuss her convictions.", question) == expected


def test_a_pattern_may_span_lines() -> None:
    pattern = """
    hello(?: (?:there
      |again))?
    | good (?:book|film)
    """
    polite = CompiledPhrases(Phrases(polite=pattern)).acts["polite"]
    texts = ["hello", "hello there", "hello again", "good film", "good", "there", "| good film"]
    matches = [text for text in texts if polite.fullmatch(text)]
    assert matches == ["hello", "hello there", "hello again", "good film"]


def test_a_word_may_be_in_several_classes_by_its_beginning_and_its_end() -> None:
    own = CompiledPhrases(Phrases(document="contract* *letter", deed="contract", held="contracted"))
    assert own.classes("contract") == {"document", "deed"}
    assert own.classes("contracted") == {"document", "held"}
    assert own.classes("newsletter") == {"document"}
    assert own.classes("murder") == frozenset()


def test_every_language_has_every_act() -> None:
    assert all(set(each.acts) == set(get_args(Act)) for each in compiled_languages())
