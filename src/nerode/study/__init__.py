"""Studies of languages: algebra, verdicts, networks, proofs, and the runs that were trained on them.

Atlas, explain, explorer, reproduce and benchmarks call this stage; `report` draws what it returns.
"""

from typing import TYPE_CHECKING

from nerode.core import lazy_door

if TYPE_CHECKING:
    from nerode.study.atlas import Study, StudyCache, for_all_languages, study_language, study_named
    from nerode.study.check import (
        LanguageProfile,
        LanguageVerdicts,
        check_language,
        check_object,
        profile_language,
    )
    from nerode.study.conclusions import conclude_model, conclude_table, conclude_task
    from nerode.study.eggboxes import (
        PARTS,
        Box,
        EggCell,
        ElementPlaces,
        LanguagePart,
        draw_eggboxes,
        language_part,
    )
    from nerode.study.networks import (
        TARGETS,
        NetworkStudy,
        all_targets,
        prove_network,
        study_network,
        study_networks,
        summarise,
    )
    from nerode.study.runs import (
        LIST_HEADINGS,
        MEASURES,
        RESULT_KEYS,
        LeftOut,
        ModelGroup,
        RunFile,
        Runs,
        TaskGroup,
        find_runs,
        group_runs,
        labelled_groups,
        list_row,
        name_run,
        read_run_files,
        run_item,
        settled_cell,
        settled_run,
        task_title,
        told_end,
    )
    from nerode.study.searches import (
        MemorisationStudy,
        Question,
        Search,
        add_claims,
        study_memorisation,
    )
    from nerode.study.trained import (
        READINGS,
        Disagreement,
        TheoryOfRuns,
        TrainingOutcome,
        architectures_of,
        find_disagreements,
        read_experiments,
        read_runs,
        summarise_verdict,
        theory_of_spec,
        works_of,
    )
    from nerode.study.words import (
        LengthCount,
        count_by_length,
        example_word,
        first_words,
        random_word,
        shorten,
    )

__getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "LIST_HEADINGS",
    "MEASURES",
    "PARTS",
    "READINGS",
    "RESULT_KEYS",
    "TARGETS",
    "Box",
    "Disagreement",
    "EggCell",
    "ElementPlaces",
    "LanguagePart",
    "LanguageProfile",
    "LanguageVerdicts",
    "LeftOut",
    "LengthCount",
    "MemorisationStudy",
    "ModelGroup",
    "NetworkStudy",
    "Question",
    "RunFile",
    "Runs",
    "Search",
    "Study",
    "StudyCache",
    "TaskGroup",
    "TheoryOfRuns",
    "TrainingOutcome",
    "add_claims",
    "all_targets",
    "architectures_of",
    "check_language",
    "check_object",
    "conclude_model",
    "conclude_table",
    "conclude_task",
    "count_by_length",
    "draw_eggboxes",
    "example_word",
    "find_disagreements",
    "find_runs",
    "first_words",
    "for_all_languages",
    "group_runs",
    "labelled_groups",
    "language_part",
    "list_row",
    "name_run",
    "profile_language",
    "prove_network",
    "random_word",
    "read_experiments",
    "read_run_files",
    "read_runs",
    "run_item",
    "settled_cell",
    "settled_run",
    "shorten",
    "study_language",
    "study_memorisation",
    "study_named",
    "study_network",
    "study_networks",
    "summarise",
    "summarise_verdict",
    "task_title",
    "theory_of_spec",
    "told_end",
    "works_of",
]
