"""Studies of languages: algebra, verdicts, networks, proofs, and the runs that were trained on them.

Atlas, explain, explorer, reproduce and benchmarks call this stage; `report` draws what it returns.
"""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.study.atlas import Study, StudyCache, for_all_languages, study_language, study_named
    from nerode.study.check import (
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
        Question,
        add_claims,
        all_targets,
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
        read_run_file,
        read_run_files,
        run_item,
        settled_run,
    )
    from nerode.study.trained import (
        READINGS,
        TheoryOfRuns,
        TrainingOutcome,
        architectures_of,
        declared_verdicts,
        find_disagreements,
        read_experiments,
        read_runs,
        summarise_verdict,
        verdict_of_task,
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

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.study.atlas": "Study StudyCache for_all_languages study_language study_named",
        "nerode.study.check": "check_language check_object profile_language",
        "nerode.study.conclusions": "conclude_model conclude_table conclude_task",
        "nerode.study.eggboxes": "PARTS Box EggCell ElementPlaces LanguagePart draw_eggboxes language_part",
        "nerode.study.networks": (
            "TARGETS NetworkStudy Question add_claims all_targets study_network study_networks summarise"
        ),
        "nerode.study.runs": (
            "LIST_HEADINGS MEASURES RESULT_KEYS LeftOut ModelGroup RunFile Runs TaskGroup find_runs "
            "group_runs labelled_groups list_row read_run_file read_run_files run_item settled_run"
        ),
        "nerode.study.trained": (
            "READINGS TheoryOfRuns TrainingOutcome architectures_of declared_verdicts "
            "find_disagreements read_experiments read_runs summarise_verdict works_of verdict_of_task"
        ),
        "nerode.study.words": "LengthCount count_by_length example_word first_words random_word shorten",
    },
)
