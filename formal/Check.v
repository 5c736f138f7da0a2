(* From the bytes of files to a theorem: `check_files` is the program that is extracted as nerode-check, and
   `check_files_sound` says what its "true" means.  The third file (a certificate) only gives hints; nothing has to be
   believed of it. *)
From Coq Require Import QArith ZArith List Bool String.
From Nerode Require Import Network Cover JointClosure Automata Forms CounterInvariant CounterMachines Saturating StackInvariant Rounding Floats Scans Reader.
Import ListNotations.
Local Open Scope string_scope.

(* ---- the claim ---- *)

Definition claim_in V (A : arithmetic V) (t : task) (N : network) (L : language) : Prop :=
  match L with
  | Automaton D => automaton_claim A t N D
  | Brackets k d => correct_in A t N (brackets k d)
  | Counting C => correct_in A t N (counting C)
  end.
(* Exact arithmetic; one letter after the other in every float machine of a format; parallel scans in any grouping. *)
Inductive sense := Exactly | StepByStep (f : format) | AnyGrouping (f : format).
Definition right_for (t : task) (L : language) : list letter -> answer -> Prop :=
  match L with
  | Automaton D => automaton_right t D
  | Brackets k d => right_after t (brackets k d)
  | Counting C => right_after t (counting C)
  end.
Definition claim (s : sense) (t : task) (N : network) (L : language) : Prop :=
  match s with
  | Exactly => claim_in Q rational t N L
  | StepByStep f => exact_in f (fun F => claim_in Q F t N L)
  | AnyGrouping f => exact_in_any_grouping f N (right_for t L)
  end.
(* the two files are a network and a language over the same letters, and the claim holds of them *)
Definition holds_of_files (s : sense) (t : task) (network_file language_file : string) : Prop :=
  exists N L names, read_network network_file = Some (N, names) /\ read_language language_file = Some (L, names) /\ claim s t N L.

(* ---- hints ---- *)

(* Which cells to try: points; unknown counters; tallies with caps; stacks in slots. *)
Inductive hints :=
| AsPoints
| WithCounters (increments : list (list Z)) (starts : list Z) (cuts : list (Z * nat)) (shapes : list (list (option form)))
| WithCaps (caps : list (list (option Z)))
| WithStack (increments : list (list Z)) (starts : list Z) (cuts : list (Z * nat)) (shapes : list (list (option form)))
    (places : list (nat * nat)) (codes : list (list Q)).
Definition one_counter (j : json) : option (Z * list Z * (Z * Z)) :=
  s <- field "start" j ;; s <- integer s ;; i <- field "increments" j ;; i <- list_of integer i ;;
  p <- field "points" j ;; p <- list_of integer p ;;
  match p with [lo; hi] => Some (s, i, (lo, hi)) | _ => None end.
Fixpoint decimal (fuel n : nat) (acc : string) : string :=
  match fuel with
  | O => acc
  | S fuel =>
      let acc := String (Ascii.ascii_of_nat (48 + Nat.modulo n 10)) acc in
      if Nat.ltb n 10 then acc else decimal fuel (Nat.div n 10) acc
  end.
(* entries of evidence are named after the layer and the coordinate: "1:c0" *)
Definition at_place (j : json) (i : nat) (name : string) : option json := field (decimal 9 i "" ++ ":" ++ name) j.
Definition one_shape (affine : json) (i : nat) (name : string) : option form :=
  l <- at_place affine i name ;; l <- arr l ;;
  match l with [c; cs] => c <- num c ;; cs <- list_of num cs ;; Some (c, trim cs) | _ => None end.
Definition state_names (network : json) : option (list (list string)) :=
  l <- field "layers" network ;; list_of (fun j => s <- field "state" j ;; list_of text s) l.
(* How many steps beyond the stated points values are cells of their own is found by trying. *)
Definition tries (make : list (Z * nat) -> hints) (increments : list (list Z)) (points : list (Z * Z)) : list hints :=
  let step := fold_left (fun m l => fold_left (fun m d => Z.max m (Z.abs d)) l m) increments 0%Z in
  let cut margin p := ((fst p - margin * step)%Z, Z.to_nat (snd p - fst p + 2 * margin * step)) in
  map (fun margin => make (map (cut margin) points)) [0; 1; 2; 4]%Z.
Definition by_place {A} (f : nat -> string -> A) (names : list (list string)) : list (list A) :=
  map (fun p => map (f (fst p)) (snd p)) (combine (seq 1 (List.length names)) names).
(* counters: what each letter adds, starts, and points; the letters are `letters`, or as many as increments *)
Definition read_counters (c : json) (letters : nat) : option (list (list Z) * list Z * list (Z * Z)) :=
  c <- list_of one_counter c ;;
  let letters := match c with (_, i, _) :: _ => List.length i | [] => letters end in
  Some (map (fun a => map (fun x => nth a (snd (fst x)) 0%Z) c) (seq 0 letters), map (fun x => fst (fst x)) c, map snd c).
Definition read_shapes (names : list (list string)) (evidence : json) : list (list (option form)) :=
  by_place (one_shape (match field "affine" evidence with Some a => a | None => JObj [] end)) names.
Definition counter_hints (network evidence : json) : option (list hints) :=
  _ <- keys ["task"; "counters"] ["affine"; "cells"; "digest"] evidence ;;
  c <- field "counters" evidence ;; c <- read_counters c 0 ;; names <- state_names network ;;
  let '(increments, starts, points) := c in
  Some (tries (fun cuts => WithCounters increments starts cuts (read_shapes names evidence)) increments points).
(* the coordinates of all layers, by their names *)
Definition named_places (names : list (list string)) : list (string * (nat * nat)) :=
  flat_map (fun p => map (fun q => (decimal 9 (S (fst p)) "" ++ ":" ++ snd q, (fst p, fst q)))
    (combine (seq 0 (List.length (snd p))) (snd p))) (combine (seq 0 (List.length names)) names).
Definition stack_hints (network evidence : json) : option (list hints) :=
  _ <- keys ["task"; "slots"; "codes"] ["counters"; "affine"; "merged"; "cells"; "digest"] evidence ;;
  names <- state_names network ;; slots <- field "slots" evidence ;; slots <- list_of (list_of text) slots ;;
  codes <- field "codes" evidence ;; codes <- list_of (list_of num) codes ;;
  c <- read_counters (match field "counters" evidence with Some c => c | None => JArr [] end) (2 * List.length codes) ;;
  places <- traverse (fun s => p <- find (fun p => fst p =? s) (named_places names) ;; Some (snd p)) (List.concat slots) ;;
  let '(increments, starts, points) := c in
  Some (tries (fun cuts => WithStack increments starts cuts (read_shapes names evidence) places codes) increments points).
Definition cap_hints (network evidence : json) : option (list hints) :=
  _ <- keys ["task"; "caps"] ["cells"; "digest"] evidence ;;
  c <- field "caps" evidence ;; names <- state_names network ;;
  Some [WithCaps (by_place (fun i name => j <- at_place c i name ;; integer j) names)].
(* the evidence of a method in a certificate, at the top or in one of its parts *)
Definition evidence_of (method : string) (certificate : json) : option json :=
  let inside j := e <- field "evidence" j ;; field method e in
  match inside certificate, field "parts" certificate with
  | Some e, _ => Some e
  | None, Some (JArr l) => fold_right (fun j found => match inside j with Some e => Some e | None => found end) None l
  | None, _ => None
  end.
(* what to try; where nothing is said of counters or caps, the cells are points *)
Definition read_hints (network_file certificate_file : string) : option (list hints) :=
  if certificate_file =? "" then Some [AsPoints]
  else c <- parse certificate_file ;;
       match evidence_of "counter-invariant" c, evidence_of "saturating-closure" c, evidence_of "stack-invariant" c with
       | Some e, _, _ => n <- parse network_file ;; counter_hints n e
       | None, Some e, _ => n <- parse network_file ;; cap_hints n e
       | None, None, Some e => n <- parse network_file ;; stack_hints n e
       | None, None, None => Some [AsPoints]
       end.

(* ---- the check ---- *)

Definition check_exact (t : task) (N : network) (L : language) (h : hints) (most : nat) : bool :=
  match L, h with
  | Automaton D, AsPoints => check_dfa t N D most
  | Automaton D, WithCounters i s c f => check_dfa_counters t N D i s c f most
  | Automaton D, WithCaps c => check_dfa_caps t N D c most
  | Automaton _, WithStack _ _ _ _ _ _ => false
  | Brackets k d, AsPoints => check_brackets t N k d most
  | Brackets k d, WithCounters i s c f => check_brackets_counters t N k d i s c f most
  | Brackets k d, WithCaps c => check_brackets_caps t N k d c most
  | Brackets k d, WithStack i s c f p o => match d with Some d => check_brackets_stack t N k d i s c f p o most | None => false end
  | Counting C, WithCounters _ _ c f => check_machine C t N c f most
  | Counting _, _ => false
  end.
Definition check_format (f : format) (t : task) (N : network) (L : language) (most : nat) : bool :=
  match L with
  | Automaton D => check_dfa_float f t N D most
  | Brackets k d => check_brackets_float f t N k d most
  | Counting _ => false
  end.
(* k: all states of diagonal layers are multiples of 2^-k *)
Definition check_grouping (f : format) (k : nat) (t : task) (N : network) (L : language) (most : nat) : bool :=
  match L with
  | Automaton D => check_dfa_scan f k t N D most
  | Brackets kinds d => check_brackets_scan f k t N kinds d most
  | Counting _ => false
  end.
Definition check_claim (s : sense) (t : task) (N : network) (L : language) (h : hints) (most : nat) : bool :=
  match s with
  | Exactly => check_exact t N L h most
  | StepByStep f => check_format f t N L most
  | AnyGrouping f => existsb (fun k => check_grouping f k t N L most) [0; 1; 2; 3; 4; 6; 8]%nat
  end.
Theorem check_claim_sound s t N L h most : check_claim s t N L h most = true -> claim s t N L.
Proof.
  destruct s as [|f|f]; cbn [check_claim claim].
  - destruct L, h; cbn [check_exact claim_in]; try discriminate.
    + apply check_dfa_sound.
    + apply check_dfa_counters_sound.
    + apply check_dfa_caps_sound.
    + apply check_brackets_sound.
    + apply check_brackets_counters_sound.
    + apply check_brackets_caps_sound.
    + destruct depth; [apply check_brackets_stack_sound|discriminate].
    + apply check_machine_sound.
  - destruct L; cbn [check_format claim_in]; [apply check_dfa_float_sound|apply check_brackets_float_sound|discriminate].
  - rewrite existsb_exists. intros (k & _ & K). revert K.
    destruct L; cbn [check_grouping right_for]; [apply check_dfa_scan_sound|apply check_brackets_scan_sound|discriminate].
Qed.

Definition check_tries (s : sense) (t : task) (N : network) (L : language) (hs : list hints) (most : nat) : bool :=
  existsb (fun h => check_claim s t N L h most) hs.
Theorem check_tries_sound s t N L hs most : check_tries s t N L hs most = true -> claim s t N L.
Proof.
  unfold check_tries. rewrite existsb_exists. intros (h & _ & K). exact (check_claim_sound _ _ _ _ _ _ K).
Qed.

(* What can be answered: the files cannot be read; they are for other letters; proved or not. *)
Inductive verdict := NotReadable (file : nat) | OtherLetters | NotProved | Proved.
Fixpoint same_names (a b : list string) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => String.eqb x y && same_names a b | _, _ => false end.
Definition judge (s : sense) (t : task) (network_file language_file certificate_file : string) (most : nat) : verdict :=
  match read_network network_file, read_language language_file, read_hints network_file certificate_file with
  | None, _, _ => NotReadable 1
  | _, None, _ => NotReadable 2
  | _, _, None => NotReadable 3
  | Some (N, a), Some (L, b), Some h =>
      if same_names a b
      then if check_tries s t N L h most then Proved else NotProved
      else OtherLetters
  end.
Definition check_files (s : sense) (t : task) (network_file language_file certificate_file : string) (most : nat) : bool :=
  match judge s t network_file language_file certificate_file most with Proved => true | _ => false end.
Lemma same_names_ok a : forall b, same_names a b = true -> a = b.
Proof.
  induction a; destruct b; cbn; try discriminate; auto. rewrite andb_true_iff. intros [E ?].
  apply String.eqb_eq in E. f_equal; auto.
Qed.
Theorem check_files_sound s t network_file language_file certificate_file most :
  check_files s t network_file language_file certificate_file most = true -> holds_of_files s t network_file language_file.
Proof.
  unfold check_files, judge. destruct (read_network network_file) as [[N a]|] eqn:E; [|discriminate].
  destruct (read_language language_file) as [[L b]|] eqn:F; [|discriminate].
  destruct (read_hints _ _) as [h|]; [|discriminate]. destruct (same_names a b) eqn:Sn; [|discriminate].
  destruct (check_tries s t N L h most) eqn:K; [|discriminate]. intros _.
  apply same_names_ok in Sn. subst b. exists N, L, a. repeat split; auto. exact (check_tries_sound _ _ _ _ _ _ K).
Qed.
