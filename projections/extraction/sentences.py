"""Words that tell names from sentences, and people from other names."""

from __future__ import annotations

from typing import Final

#: Words that have a capital because a sentence begins, or because English gives them one.
NOT_NAMES: Final = frozenset(
    (
        "a about above according across actually add added adding after afterwards again agreed ah all "
        "almost along already also although always am amazing among an and another any anyone anything "
        "anyway apart apparently are around as ask at aw awesome away bad based be because been before "
        "being believe besides best better between both but by bye call can cannot cause check cheers "
        "clearly come congrats congratulations consider cool could currently dad damn dear decided "
        "definitely despite did do does doing don done down due during each earlier either else enjoy "
        "enough especially even eventually ever every everybody everyone everything exactly except fair far "
        "feel few finally find first fix fixed following for fortunately from fun generally get getting "
        "give given glad go going gonna good goodbye got gotta great had haha happy hard has have having he "
        "hello help hence her here hers hey hi him his honestly hope hopefully how however huge hurray if "
        "imagine in indeed initially inside instead into is isn it its itself just keep kind know last "
        "lastly late lately later latest least less let lets life like likewise literally little look "
        "looking looks lot lots love loved lovely luckily made main make makes making many may maybe me "
        "mean meanwhile might mine mom moreover more most mostly much mum must my myself naturally near "
        "need neither never nevertheless new next nice no nobody none nope nor not note nothing now "
        "obviously of off oh ok okay old on once one only onto or originally other others otherwise our "
        "ours out outside over overall perfect perhaps personally plan please plus presumably previously "
        "probably quick quite rather ready really recently regarding remember right running sad same saw "
        "say see seeing seems several shall she should since sir so some somebody someone something "
        "sometimes soon sorry sounds special still stop such super sure surely take taking talk tell than "
        "thank thankfully thanks that the their theirs them then there therefore these they thing things "
        "think this those though thought three through throughout thus time to today together tomorrow "
        "tonight too totally toward true truly try trying turns two ugh unfortunately under unless until up "
        "updated upon us use used using usually very via wait want wanted was watch way we welcome well "
        "were what whatever when whenever where whereas wherever whether which while who whoever whole whom "
        "whose why will wish with within without woah wonderful wondering work would wow yay yeah yep yes "
        "yesterday yet yikes you your yours yourself yup absolutely whoa aww hmm gosh geez ouch phew sweet "
        "hell lol btw fyi imo todo warning error info debug notes example step summary result results "
        "question answer task january february march april june july august september october november "
        "december monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep "
        "sept oct nov dec mon tue tues wed thu thur thurs fri sat sun spring summer autumn winter christmas "
        "easter english french german spanish italian portuguese dutch russian chinese japanese korean "
        "arabic hindi turkish polish swedish danish norwegian finnish greek hebrew latin american british "
        "canadian australian european african asian indian mexican irish scottish christian jewish muslim "
        "catholic mr mrs ms dr prof god earth internet web false null"
    ).split()
)

#: Before a name: somebody is spoken to.
GREETINGS: Final = frozenset(
    "hey hi hello dear thanks thank bye goodbye congrats congratulations welcome sorry cheers morning".split()
)

TITLES: Final = frozenset("mr mrs ms miss mx dr prof professor sir madam lady lord".split())

#: Before a name: of a person.
BEFORE_PERSONS: Final = frozenset(
    "ask asked asking tell told telling met meet meeting cc ping pinged thank called friend sister "
    "brother mother father mom mum dad wife husband son daughter cousin uncle aunt grandma grandpa nephew "
    "niece boyfriend girlfriend partner colleague coworker teammate boss manager neighbor neighbour "
    "roommate named".split()
)

#: Two words before a name: of a person.
PAIRS_BEFORE_PERSONS: Final = frozenset(
    "assigned to;reviewed by;written by;approved by;fixed by;reported by;requested by;owned by;authored by;"
    "signed by;merged by;talked to;spoke to;spoke with;talked with;chatted with;married to;according to;"
    "date with;lunch with;dinner with;call with;meeting with".split(";")
)

#: After a name: what persons do.
AFTER_PERSONS: Final = frozenset(
    "said says told tells asked asks wrote thinks thought wants wanted loves loved likes liked lives lived "
    "mentioned replied suggested agreed decided prefers preferred hates feels felt believes knows knew "
    "remembers married studied teaches taught met asked reviewed approved complained promised confirmed "
    "joined moved went came bought cooks cooked painted".split()
)
