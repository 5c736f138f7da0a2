"""Records of experiments without torch: training specs, run records, the run store, reproduced tables."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.records.analysis import (
        ANALYSIS_FORMAT,
        Analysis,
        AnalysisRow,
        ContextAnalysis,
        Forgetting,
        LayerSpectrum,
        MetricAutomaton,
        Spectrum,
        StateClusters,
        analysis_json,
    )
    from nerode.records.lock import (
        LOCK,
        PATIENCE,
        LeaseWatch,
        Owner,
        current_owner,
        leased,
        locked,
        newest_lease,
        read_owner,
        require_no_driver,
        require_no_workers,
    )
    from nerode.records.run_record import (
        REFUTED,
        TESTED,
        AxisScore,
        Divergence,
        HistoryRow,
        LengthScore,
        ModelClaim,
        RunRecord,
        claims_to_json,
        extrapolates_to,
        first_failing_length,
        first_prefixes,
        join_scores,
        unexamined,
    )
    from nerode.records.settlement import (
        EXACT_NETWORK,
        MARKS,
        SETTLED,
        SETTLED_CERTIFICATE,
        SETTLEMENT_FILE,
        STATUS_LEGEND,
        WEIGHTS,
        RunStatus,
        Settlement,
        read_settlement,
        run_status,
        status_of_tests,
    )
    from nerode.records.spec import (
        MAX_LENGTH,
        CompleteSpec,
        Curriculum,
        ExactSpec,
        FeedForward,
        Measure,
        ModelSpec,
        Norm,
        OptimiserSpec,
        RunSpec,
        StopRule,
        Surroundings,
        TaskConfig,
        TrainingAids,
        TrainSpec,
        merge_tables,
        nest_settings,
        parse_assignments,
        read_toml,
        refuse_code,
        untrusted_code,
    )
    from nerode.records.store import (
        RESULT,
        RunFailure,
        RunOutline,
        RunOutput,
        RunStore,
        claim_store,
        find_run,
        list_runs,
        prune,
        read_metrics,
        read_result,
        read_run,
        removable,
        run_name,
    )
    from nerode.records.subject import (
        IMPORTED,
        MAX_WEIGHTS,
        SUBJECT_FILE,
        SUBJECT_FORMAT,
        WEIGHTS_FILE,
        AskedQuestion,
        Bits,
        Folder,
        ImportOrigin,
        NetworkEntry,
        Reading,
        SubjectRecord,
        TokenLetters,
        hash_tensors,
        is_import,
    )
    from nerode.records.tables import (
        CURVE,
        CellResult,
        LineResult,
        TableResult,
        VerdictSummary,
        kept_experiments,
        read_table,
        read_tables,
        write_table,
    )

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "nerode.records.analysis": (
            "ANALYSIS_FORMAT Analysis AnalysisRow ContextAnalysis Forgetting LayerSpectrum MetricAutomaton "
            "Spectrum StateClusters analysis_json"
        ),
        "nerode.records.lock": (
            "LOCK PATIENCE LeaseWatch Owner current_owner leased "
            "locked newest_lease read_owner require_no_driver require_no_workers"
        ),
        "nerode.records.run_record": (
            "REFUTED TESTED AxisScore Divergence HistoryRow LengthScore ModelClaim RunRecord "
            "claims_to_json extrapolates_to first_failing_length first_prefixes join_scores unexamined"
        ),
        "nerode.records.settlement": (
            "EXACT_NETWORK MARKS SETTLED SETTLED_CERTIFICATE SETTLEMENT_FILE STATUS_LEGEND WEIGHTS RunStatus "
            "Settlement read_settlement run_status status_of_tests"
        ),
        "nerode.records.spec": (
            "MAX_LENGTH CompleteSpec Curriculum ExactSpec FeedForward Measure ModelSpec Norm OptimiserSpec "
            "RunSpec StopRule Surroundings TaskConfig TrainingAids TrainSpec merge_tables nest_settings "
            "parse_assignments read_toml refuse_code untrusted_code"
        ),
        "nerode.records.store": (
            "RESULT RunFailure RunOutline RunOutput RunStore claim_store find_run list_runs "
            "prune read_metrics read_result read_run removable run_name"
        ),
        "nerode.records.subject": (
            "IMPORTED MAX_WEIGHTS SUBJECT_FILE SUBJECT_FORMAT WEIGHTS_FILE AskedQuestion Bits Folder "
            "ImportOrigin NetworkEntry Reading SubjectRecord TokenLetters hash_tensors is_import"
        ),
        "nerode.records.tables": (
            "CURVE CellResult LineResult TableResult VerdictSummary kept_experiments read_table read_tables "
            "write_table"
        ),
    },
)
