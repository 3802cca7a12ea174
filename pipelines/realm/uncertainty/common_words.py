"""Words that steps of reasoning begin with, that join names, and that hedge."""

CONNECTORS = frozenset(
    "of the de du des la le les di da do dos van von der den del bin al el y".split()
)
"""Words in lower case that stand inside names."""

STARTERS = frozenset(
    """
    a about according actually after again ah all alright also although always an and another
    answer any anyway are as at based be because been before being born both but by can checking
    clearly combining confidence consider considering could did do does done each either else
    even every evidence exactly final finally find first for from given going good great had has
    have having he hence her here hers him his hm hmm hold how however i if in indeed instead
    into is it its just knowing known last lastly let like likely look looking many maybe me
    meanwhile might more moreover most much must my need neither next no none nor not note
    nothing now of off oh ok okay on once one only or originally other otherwise our out over
    perhaps please possibly presumably previously probably putting question really recall
    remember right same say second secondly see she should similarly since so some someone
    something sorry step still such suppose sure ten than that the their them then there
    therefore these they thing things think third thirdly this those though three thus to
    together too two under unless unlike until up upon us very wait was we well were what
    whatever when where whereas whether which while who whom whose why will with within without
    won would written yeah yes yet you your
    monday tuesday wednesday thursday friday saturday sunday
    """.split()
)
"""Lower-case words that are no name by themselves, capitalised or not."""

HEDGES = (
    "maybe",
    "perhaps",
    "possibly",
    "probably",
    "presumably",
    "supposedly",
    "apparently",
    "likely",
    "unlikely",
    "might",
    "may",
    "could be",
    "could have",
    "seems",
    "seem",
    "seemingly",
    "appears to",
    "i think",
    "i believe",
    "i guess",
    "i guessed",
    "i suppose",
    "i assume",
    "i recall",
    "i'm not sure",
    "i am not sure",
    "not sure",
    "not certain",
    "not entirely sure",
    "unsure",
    "uncertain",
    "unclear",
    "i don't know",
    "i do not know",
    "don't remember",
    "do not remember",
    "can't recall",
    "cannot recall",
    "if i remember",
    "if i recall",
    "hmm",
    "wait",
    "or maybe",
    "or was it",
    "roughly",
    "approximately",
    "around",
    "about",
    "somewhere",
    "should be",
    "must be",
    "double-check",
    "double check",
    "need to check",
    "need to verify",
    "guess",
    "guessing",
    "assuming",
    "as far as i",
)
"""Lower-case phrases that weaken a statement (after Hyland's list of hedges, with those of spoken
reasoning)."""
