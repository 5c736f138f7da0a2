(* What the theorems rest on: `make formal` compares what is printed with "Closed under the global context". *)
From Nerode Require Import Related Cover JointClosure Automata CounterInvariant CounterMachines Saturating StackInvariant Floats Scans Check.
Print Assumptions step_related.
Print Assumptions check_sound.
Print Assumptions automaton_ok.
Print Assumptions automaton_claim_ok.
Print Assumptions check_dfa_sound.
Print Assumptions check_brackets_sound.
Print Assumptions check_dfa_counters_sound.
Print Assumptions check_brackets_counters_sound.
Print Assumptions check_machine_sound.
Print Assumptions check_dfa_caps_sound.
Print Assumptions check_brackets_caps_sound.
Print Assumptions check_brackets_stack_sound.
Print Assumptions any_order.
Print Assumptions a_machine_ok.
Print Assumptions check_float_sound.
Print Assumptions check_dfa_float_sound.
Print Assumptions check_brackets_float_sound.
Print Assumptions any_grouping.
Print Assumptions check_scan_sound.
Print Assumptions check_dfa_scan_sound.
Print Assumptions check_brackets_scan_sound.
Print Assumptions check_claim_sound.
Print Assumptions check_tries_sound.
Print Assumptions check_files_sound.
