"""Words that steps of reasoning begin with, that join names, and that hedge."""

CONNECTORS = frozenset(
    "of the de du des la le les di da do dos van von der den del bin al el y".split()
)
"""Words in lower case that stand inside names."""

STARTERS = frozenset(
    """
    a about above according accordingly across actually after again against ah all along
    alongside alright also although always amid among an and another answer any anybody anyone
    anything anyway are around as at away based be because been before behind being below
    beneath beside besides best better between beyond born both but by can cannot checking
    clearly combining confidence consider considering conversely correct could despite did do
    does doing done down during each earlier early either else even eventually every everybody
    everyone everything evidence exactly except fact false few final finally find first
    following for from generally given going good great had has have having he hello hence her
    here hers herself him himself his hm hmm hold how however i if in including indeed inside
    instead into is it its itself just knowing known last lastly late later least less let like
    likely look looking many maybe me meanwhile might more moreover most much must my myself
    namely near need neither nevertheless new next no nobody none nonetheless nor not note
    nothing now of off often oh ok okay old on once one only onto or originally other otherwise
    our ourselves out outside over overall past people per perhaps person place please possibly
    presumably previously probably putting question rather really recall regarding regardless
    remember right round same say second secondly see several shall she should similarly since
    so some somebody someone something sometimes somewhere soon sorry step still subsequently
    such suppose sure ten than thanks that the their them themselves then there therefore these
    they thing things think third thirdly this those though three through throughout thus till
    time to together too toward towards true two ultimately under underneath unless unlike until
    up upon us usually versus very via wait was we well were what whatever when where whereas
    whereby wherever whether which whichever while who whoever whom whose why will with within
    without won would written wrong yeah yes yet you your yourself
    friday monday saturday sunday thursday tuesday wednesday
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
