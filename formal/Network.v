(* Specification: what a network is, what it computes, what a language is, and what "correct" means.

   This file is what a user of the proofs has to read and to believe; the other files of this folder only prove
   things about it (Rounding.v adds the meaning of float arithmetic, Reader.v the meaning of the bytes of files).
   Nothing here is an algorithm that has to be fast.

   Ten lines of Coq for readers who do not know it:
     Record r := R { f : T }          a record type with the field f; `f x` is the field of x, `R v` builds one.
     Inductive t := A | B (n : nat)   a type whose values are A and B n.
     list T, [x; y], l ++ m           lists; nth_error l i is Some of entry i (from 0), or None beyond the end.
     option T, Some x, None           a value or none.  Here None always means "undefined", never a wrong answer.
     x <- e ;; k                      if e is Some x then k, else None.  So one undefined part makes all undefined.
     nat, N, Z, Q                     natural numbers (unary, and binary), integers, exact fractions; 1 # 2 is 1/2.
     Fixpoint, fold_left, map         recursion on lists, as in every functional language.
     forall, exists, ->, /\, <->      for all, there is, implies, and, if and only if. *)
From Coq Require Import QArith List Bool.
Import ListNotations.
Local Open Scope Q_scope.
Set Implicit Arguments.

(* ---- 1. Networks: the record of the network file, with names replaced by positions ---- *)

(* Letters are numbered from 0.  An answer has one flag for each letter ("it may follow here") and one more, the
   last, for the end ("the word may end here"). *)
Definition letter := nat.
Definition answer := list bool.

(* A row is bias + c1 * x[i1] + c2 * x[i2] + ...; its terms are pairs (i, c).  An affine map is a list of rows. *)
Record row := Row { bias : Q; terms : list (nat * Q) }.
Definition affine_map := list row.

Inductive activation := Linear | Relu | Clip.          (* identity; max(x, 0); min(max(x, 0), 1) *)

(* How a layer gets its new state from its inputs (what it reads, then its units) and its old state h. *)
Inductive move :=
| Gated (gates writes : affine_map)                    (* diagonal layers: gate * h + write, in each coordinate *)
| Attention (strict : list bool) (holds values : affine_map)
    (* heads as gated coordinates: hold * h + value; a strict head holds 0 or 1, and writes 0 where it holds 1 *)
| Affine (f : activation) (m : affine_map)             (* time-invariant and Elman layers: f of one map of inputs and h *)
| ByLetter (ms : list affine_map)                      (* one map of inputs and h for each letter *)
| BySelector (s : affine_map) (ms : list affine_map)   (* the map is chosen by the row of s that is 1; the others are 0 *)
| Reflections (fs : list (list (Q * list Q))) (ws : list (list Q)).
    (* householder layers, for each letter: h is multiplied by I - beta v v^T / (v^T v) for every (beta, v) in turn,
       then the write of the letter is added *)

(* A layer reads some directions of the stream and appends its outputs to the stream. *)
Record layer := Layer {
  reads : list nat; start : list Q;                    (* directions that it reads; state before the first letter *)
  units : affine_map;                                  (* ReLU units of what it reads *)
  recurrence : move;
  exposes_previous : bool;                             (* whether the readout also sees the state before the letter *)
  readout_units : affine_map; readout : affine_map }.  (* ReLU units of what it reads and the state; the outputs *)

Inductive decoder :=
| Scores (reads : list nat) (units rows : affine_map)            (* a flag is true where its score is above 1/2 *)
| Points (reads : list nat) (points : list (list Q * answer)).   (* the answer of the point with the largest product *)

Record network := Network {
  num_letters : nat; embedding : list (list Q);        (* the stream that each letter begins with *)
  layers : list layer; decode : decoder;
  empty_answer : answer }.                             (* the answer before the first letter *)

(* ---- 2. One step, written once over any arithmetic ---- *)

Definition bind {A B} (x : option A) (f : A -> option B) : option B :=
  match x with Some a => f a | None => None end.
Notation "x <- e ;; k" := (bind e (fun x => k)) (at level 61, e at next level, right associativity).

(* f on every entry; undefined where one of them is *)
Fixpoint traverse {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | x :: l => y <- f x ;; ys <- traverse f l ;; Some (y :: ys)
  end.

(* f on entries of two lists side by side; undefined where the lengths differ *)
Fixpoint zip {A B C} (f : A -> B -> option C) (l : list A) (m : list B) : option (list C) :=
  match l, m with
  | [], [] => Some []
  | x :: l, y :: m => z <- f x y ;; zs <- zip f l m ;; Some (z :: zs)
  | _, _ => None
  end.

(* An arithmetic on values of the type V.  A whole sum is one operation, so that "any order of adding" can be said. *)
Record arithmetic (V : Type) := Arithmetic {
  const : Q -> option V;
  sum : Q -> list (Q * V) -> option V;            (* a number plus multiples of values *)
  gated : V -> V -> V -> option V;                (* gate, state, write: gate * state + write *)
  relu : V -> option V;                           (* max(x, 0) *)
  above : V -> Q -> option bool;                  (* whether a value is above a number *)
  greater : V -> V -> option bool;                (* whether a value is above another *)
  entry : list V -> nat -> option V }.            (* nth_error; named, so that a checker may look long lists up quickly *)

Section Step.
Variable V : Type.
Variable O : arithmetic V.

Definition row_value (value : nat -> option V) (r : row) : option V :=
  vs <- traverse (fun t => v <- value (fst t) ;; Some (snd t, v)) (terms r) ;; sum O (bias r) vs.
Definition map_values (m : affine_map) (table : list V) := traverse (row_value (entry O table)) m.
Definition relu_values (m : affine_map) (table : list V) := vs <- map_values m table ;; traverse (relu O) vs.

Definition activate (f : activation) (vs : list V) :=
  match f with
  | Linear => Some vs
  | Relu => traverse (relu O) vs
  | Clip => traverse (fun v =>                           (* relu(v) - relu(v - 1) *)
      p <- relu O v ;; m <- bind (sum O (-1) [(1, v)]) (relu O) ;; sum O 0 [(1, p); (-1, m)]) vs
  end.

(* Products of a fixed vector and a list of values; zeros of the vector are left out. *)
Fixpoint nonzero (u : list Q) (h : list V) : list (Q * V) :=
  match u, h with
  | c :: u, v :: h => if Qeq_bool c 0 then nonzero u h else (c, v) :: nonzero u h
  | _, _ => []
  end.
Definition dot (u : list Q) (h : list V) : option V := sum O 0 (nonzero u h).

Definition square (u : list Q) : Q := fold_right (fun c s => c * c + s) 0 u.
Definition reflect (h : list V) (f : Q * list Q) : option (list V) :=      (* (I - beta v v^T / v^T v) h *)
  d <- dot (snd f) h ;; m <- sum O 0 [(fst f / square (snd f), d)] ;;
  zip (fun c v => if Qeq_bool c 0 then Some v else sum O 0 [(1, v); (- c, m)]) (snd f) h.
Fixpoint reflect_all (fs : list (Q * list Q)) (h : list V) : option (list V) :=
  match fs with [] => Some h | f :: fs => h' <- reflect h f ;; reflect_all fs h' end.

Definition equals (v : V) (c : Q) : option bool :=       (* neither v > c nor -v > -c *)
  a <- above O v c ;; n <- sum O 0 [(-1, v)] ;; b <- above O n (- c) ;; Some (negb a && negb b).
Fixpoint selected (vs : list V) (i : nat) : option (option nat) :=   (* the place of the only 1; Some None: all are zero *)
  match vs with
  | [] => Some None
  | v :: vs =>
      rest <- selected vs (S i) ;;
      zero <- equals v 0 ;;
      if zero then Some rest
      else one <- equals v 1 ;; match one, rest with true, None => Some (Some i) | _, _ => None end
  end.

Definition gated_values (g h w : list V) : option (list V) :=
  gh <- zip (fun x y => Some (x, y)) g h ;; zip (fun p z => gated O (fst p) (snd p) z) gh w.
Definition head (strict : bool) (p : V * V) : option unit :=         (* what heads hold and write, see Attention *)
  if strict then
    z <- equals (fst p) 0 ;;
    if z then Some tt
    else o <- equals (fst p) 1 ;; w <- equals (snd p) 0 ;; if o && w then Some tt else None
  else Some tt.

Definition do_move (m : move) (a : letter) (table h : list V) : option (list V) :=
  match m with
  | Gated gs ws => g <- map_values gs table ;; w <- map_values ws table ;; gated_values g h w
  | Attention ks gs ws =>
      g <- map_values gs table ;; w <- map_values ws table ;;
      gw <- zip (fun x y => Some (x, y)) g w ;; _ <- zip head ks gw ;; gated_values g h w
  | Affine f m => vs <- map_values m (table ++ h) ;; activate f vs
  | ByLetter ms => m <- nth_error ms a ;; map_values m (table ++ h)
  | BySelector s ms =>
      vs <- map_values s table ;; i <- selected vs 0 ;; i <- i ;; m <- nth_error ms i ;; map_values m (table ++ h)
  | Reflections fs ws =>
      f <- nth_error fs a ;; w <- nth_error ws a ;;
      h' <- reflect_all f h ;; zip (fun x c => sum O c [(1, x)]) h' w
  end.

(* One layer at one letter, from the stream and its old state to its new state and the longer stream. *)
Definition layer_step (l : layer) (a : letter) (stream h : list V) : option (list V * list V) :=
  r <- traverse (entry O stream) (reads l) ;;
  u <- relu_values (units l) r ;;
  new <- do_move (recurrence l) a (r ++ u) h ;;
  let inside := r ++ new ++ (if exposes_previous l then h else []) in
  s <- relu_values (readout_units l) inside ;;
  out <- map_values (readout l) (inside ++ s) ;;
  Some (new, stream ++ out).

Fixpoint layers_step (ls : list layer) (a : letter) (stream : list V) (hs : list (list V))
  : option (list (list V) * list V) :=
  match ls, hs with
  | [], [] => Some ([], stream)
  | l :: ls, h :: hs =>
      p <- layer_step l a stream h ;;
      q <- layers_step ls a (snd p) hs ;;
      Some (fst p :: fst q, snd q)
  | _, _ => None
  end.

Fixpoint same (x y : answer) : bool :=
  match x, y with
  | [], [] => true
  | b :: x, c :: y => Bool.eqb b c && same x y
  | _, _ => false
  end.

(* The largest product, and that every point with another answer has a smaller one; a tie is undefined. *)
Fixpoint largest (p : V * answer) (ps : list (V * answer)) : option (V * answer) :=
  match ps with
  | [] => Some p
  | q :: ps => b <- greater O (fst q) (fst p) ;; largest (if b : bool then q else p) ps
  end.
Fixpoint leads (p : V * answer) (ps : list (V * answer)) : option unit :=
  match ps with
  | [] => Some tt
  | q :: ps =>
      b <- greater O (fst p) (fst q) ;;
      if b then leads p ps else if same (snd p) (snd q) then leads p ps else None
  end.

Definition answer_of (d : decoder) (stream : list V) : option answer :=
  match d with
  | Scores rs us rows =>
      r <- traverse (entry O stream) rs ;; u <- relu_values us r ;;
      vs <- map_values rows (r ++ u) ;; traverse (fun v => above O v (1 # 2)) vs
  | Points rs ps =>
      r <- traverse (entry O stream) rs ;;
      all <- traverse (fun p => v <- dot (fst p) r ;; Some (v, snd p)) ps ;;
      match all with
      | [] => None
      | p :: rest => best <- largest p rest ;; _ <- leads best all ;; Some (snd best)
      end
  end.

Definition states := list (list V).                      (* one list of numbers for each layer *)
Definition start_states (N : network) : option states := traverse (fun l => traverse (const O) (start l)) (layers N).
Definition net_step (N : network) (hs : states) (a : letter) : option (states * answer) :=
  e <- nth_error (embedding N) a ;; v <- traverse (const O) e ;;
  p <- layers_step (layers N) a v hs ;;
  x <- answer_of (decode N) (snd p) ;;
  Some (fst p, x).

(* The answer after a word, from states and the answer there. *)
Fixpoint run (N : network) (hs : states) (x : answer) (w : list letter) : option answer :=
  match w with
  | [] => Some x
  | a :: w => p <- net_step N hs a ;; run N (fst p) (snd p) w
  end.
Definition answer_in (N : network) (w : list letter) : option answer :=
  hs <- start_states N ;; run N hs (empty_answer N) w.
End Step.

(* ---- 3. The meaning of a network: exact fractions ---- *)

Definition rational : arithmetic Q :=
  Arithmetic (fun q => Some q) (fun b l => Some (fold_right (fun p s => fst p * snd p + s) b l))
    (fun g h w => Some (g * h + w))
    (fun x => Some (if Qle_bool x 0 then 0 else x)) (fun x c => Some (negb (Qle_bool x c)))
    (fun x y => Some (negb (Qle_bool x y))) (@nth_error Q).
Definition answer_after := answer_in rational.

(* ---- 4. Languages ---- *)

(* A deterministic machine: configurations, the first one, the next one after a letter, and what may follow. *)
Record machine := Machine {
  conf : Type; first : conf; next : conf -> letter -> conf; allowed : conf -> answer }.
Definition after (M : machine) (w : list letter) : conf M := fold_left (next M) w (first M).
Definition over (n : nat) (w : list letter) : Prop := Forall (fun a => (a < n)%nat) w.    (* a word of letters below n *)
(* every letter of the word was allowed where it was read *)
Fixpoint valid (M : machine) (c : conf M) (w : list letter) : Prop :=
  match w with
  | [] => True
  | a :: w => nth a (allowed M c) false = true /\ valid M (next M c a) w
  end.

(* 4a. Automata.  States are numbered from 0; row q of the table has the next state for each letter. *)
Record dfa := Dfa { letters : nat; table : list (list N); initial : N; accepting : list N }.
Definition go (D : dfa) (q : N) (a : letter) : N := nth a (nth (N.to_nat q) (table D) []) 0%N.
Definition accepts_from (D : dfa) (q : N) (w : list letter) : bool :=
  existsb (N.eqb (fold_left (go D) w q)) (accepting D).
Definition accepts (D : dfa) (w : list letter) : bool := accepts_from D (initial D) w.

(* 4b. Balanced brackets of some kinds, to a depth (None: any depth).  Letter 2k opens kind k, letter 2k + 1 closes
   it.  A configuration is the stack of open kinds, or None after a bracket that did not fit. *)
Section Brackets.
Variables (kinds : nat) (depth : option nat).
Definition may_open (s : list nat) : bool := match depth with None => true | Some d => (length s <? d)%nat end.
Definition bracket_next (c : option (list nat)) (a : letter) : option (list nat) :=
  s <- c ;;
  if Nat.even a then if may_open s then Some (Nat.div2 a :: s) else None
  else match s with k :: s => if Nat.eqb k (Nat.div2 a) then Some s else None | [] => None end.
Definition bracket_allowed (c : option (list nat)) : answer :=
  match c with
  | None => repeat false (2 * kinds + 1)
  | Some s =>
      map (fun a => if Nat.even a then may_open s
                    else match s with k :: _ => Nat.eqb k (Nat.div2 a) | [] => false end) (seq 0 (2 * kinds))
      ++ [match s with [] => true | _ => false end]
  end.
Definition brackets : machine := Machine (Some []) bracket_next bracket_allowed.
End Brackets.

(* 4c. Counter machines.  Every letter adds fixed amounts to the counters.  A rule fires where the last letter is
   among `after_any` (-1: no letter yet; None: whatever it was), the counters of `zeros` are 0 and those of
   `positives` above 0; then its symbols may follow, and the word may end if `ends`. *)
Record rule := Rule { after_any : option (list Z); zeros : list nat; positives : list nat; symbols : list nat; ends : bool }.
Record counter_machine := CounterMachine { cletters : nat; cstart : list Z; cadd : list (list Z); rules : list rule }.
Section CounterMachine.
Variable C : counter_machine.
Definition looks_back : bool := existsb (fun r => match after_any r with None => false | Some _ => true end) (rules C).
Definition fits_last (r : rule) (last : Z) : bool :=
  match after_any r with None => true | Some l => existsb (Z.eqb last) l end.
Definition fires (last : Z) (n : list Z) (r : rule) : bool :=
  fits_last r last && forallb (fun c => Z.eqb (nth c n 0%Z) 0) (zeros r)
  && forallb (fun c => Z.ltb 0 (nth c n 0%Z)) (positives r).
Definition what_follows (flags : list bool) : answer :=        (* from one flag for each rule: whether it fires *)
  let on f := existsb (fun p => fst p && f (snd p)) (combine flags (rules C)) in
  map (fun a => on (fun r => existsb (Nat.eqb a) (symbols r))) (seq 0 (cletters C)) ++ [on ends].
Definition counter_allowed (q : option (Z * list Z)) : answer :=
  match q with
  | None => repeat false (cletters C + 1)
  | Some (last, n) => what_follows (map (fires last n) (rules C))
  end.
Definition shift (n : list Z) (d : list Z) : list Z := map (fun p => (fst p + snd p)%Z) (combine n d).
Definition counter_next (q : option (Z * list Z)) (a : letter) : option (Z * list Z) :=
  match q with
  | Some (_, n) =>
      if nth a (counter_allowed q) false
      then Some ((if looks_back then Z.of_nat a else (-1)%Z), shift n (nth a (cadd C) [])) else None
  | None => None
  end.
Definition counting : machine := Machine (Some ((-1)%Z, cstart C)) counter_next counter_allowed.
End CounterMachine.

(* ---- 5. Claims ---- *)

(* Predict: after every word, exactly what may follow.  ValidPrefixes: the same, after words whose every letter was
   allowed.  Recognise: after every word, whether it is in the language (the last flag). *)
Inductive task := Predict | ValidPrefixes | Recognise.
Definition right (t : task) (expected got : answer) : Prop :=
  match t with Recognise => last expected false = last got false | _ => expected = got end.
Definition within (t : task) (M : machine) (q : conf M) (w : list letter) : Prop :=
  match t with ValidPrefixes => valid M q w | _ => True end.

(* After every word, of every length, the network has an answer (it is never undefined) and the answer is right. *)
Definition correct_in V (A : arithmetic V) (t : task) (N : network) (M : machine) : Prop :=
  forall w, over (num_letters N) w -> within t M (first M) w ->
  exists x, answer_in A N w = Some x /\ right t (allowed M (after M w)) x.
Definition correct := correct_in rational.

(* The same for automata, in words of the language alone: a letter is allowed after w if and only if some word of the
   language begins with w and that letter; the end is allowed if and only if w is in the language. *)
Definition says_next (D : dfa) (w : list letter) (x : answer) : Prop :=
  (forall a, (a < letters D)%nat ->
     nth a x false = true <-> exists u, over (letters D) u /\ accepts D (w ++ a :: u) = true) /\
  nth (letters D) x false = accepts D w.
Definition continues (D : dfa) (w : list letter) : Prop := exists u, over (letters D) u /\ accepts D (w ++ u) = true.
Definition automaton_claim V (A : arithmetic V) (t : task) (N : network) (D : dfa) : Prop :=
  forall w, over (letters D) w ->
  match t with
  | Predict => exists x, answer_in A N w = Some x /\ says_next D w x
  | ValidPrefixes => continues D w -> exists x, answer_in A N w = Some x /\ says_next D w x
  | Recognise => exists x, answer_in A N w = Some x /\ last x false = accepts D w
  end.

(* The same of one word and one answer. *)
Definition right_after (t : task) (M : machine) (w : list letter) (x : answer) : Prop :=
  within t M (first M) w -> right t (allowed M (after M w)) x.
Definition automaton_right (t : task) (D : dfa) (w : list letter) (x : answer) : Prop :=
  match t with
  | Predict => says_next D w x
  | ValidPrefixes => continues D w -> says_next D w x
  | Recognise => last x false = accepts D w
  end.
