(* What a file written by `nerode export --to coq` imports. *)
From Coq Require Export QArith NArith List Bool String.
From Nerode Require Export Network JointClosure Automata Forms CounterInvariant CounterMachines Saturating Rounding Floats Scans Reader Check.
Export ListNotations.

(* A term of a row: coefficient c times input i. *)
Definition x (i : nat) (c : Q) : nat * Q := (i, c).
Arguments x i%nat_scope c%Q_scope.
Arguments Row bias%Q_scope terms%list_scope.
