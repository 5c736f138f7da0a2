(* What cells with counters know of the configuration of a language: the configuration itself (automata, bounded
   brackets), or that the counters of the cell are those of a counter machine (Dyck-1, a^n b^n). *)
From Coq Require Import QArith ZArith List Bool Lia.
From Nerode Require Import Network Related Cover JointClosure Automata Forms CounterInvariant.
Import ListNotations.
Set Implicit Arguments.

(* 1. the configuration itself: automata, bounded brackets *)
Definition itself (M : machine) (eqb : conf M -> conf M -> bool) (ok : forall x y, eqb x y = true -> x = y)
  (h : conf M -> Z) : knowledge M :=
  @Knowledge M (conf M) (fun _ k q => k = q) (fun _ k a => Some (next M k a)) (fun _ k => Some (allowed M k)) eqb ok h.

Definition itself_cover t N (M : machine) (eqb : conf M -> conf M -> bool) (ok : forall x y, eqb x y = true -> x = y) (h : conf M -> Z) (inc : list (list Z)) (s : list Z) (cuts : list (Z * nat))
  (shapes : list (list (option form))) : cover rational t N M.
Proof.
  refine (@counters t N M (@itself M eqb ok h) inc s (first M) cuts shapes _ _ _); cbn.
  - reflexivity.
  - intros n r k q a k' _ -> E d _. now injection E as <-.
  - intros n r k q x _ -> E. now injection E.
Defined.
Definition check_brackets_counters (t : task) (N : network) (kinds : nat) (depth : option nat)
  (inc : list (list Z)) (s : list Z) (cuts : list (Z * nat)) (shapes : list (list (option form))) (most : nat) : bool :=
  Nat.eqb (num_letters N) (2 * kinds) &&
  check (@itself_cover t N (brackets kinds depth) conf_eqb conf_eqb_ok conf_hash inc s cuts shapes) most.
Theorem check_brackets_counters_sound t N k d inc s cuts shapes most :
  check_brackets_counters t N k d inc s cuts shapes most = true -> correct t N (brackets k d).
Proof. unfold check_brackets_counters. rewrite andb_true_iff. intros [_ K]. eapply check_sound, K. Qed.

Definition check_dfa_counters (t : task) (N : network) (D : dfa)
  (inc : list (list Z)) (s : list Z) (cuts : list (Z * nat)) (shapes : list (list (option form))) (most : nat) : bool :=
  Nat.eqb (num_letters N) (letters D) && checked_automaton D &&
  check (@itself_cover t N (automaton D) N.eqb state_eqb_ok state_hash inc s cuts shapes) most.
Theorem check_dfa_counters_sound t N D inc s cuts shapes most :
  check_dfa_counters t N D inc s cuts shapes most = true -> automaton_claim rational t N D.
Proof.
  unfold check_dfa_counters. rewrite !andb_true_iff, Nat.eqb_eq. intros [[E W] K].
  apply automaton_claim_ok; auto. eapply check_sound, K.
Qed.

(* 2. the counters of a counter machine are the unknowns *)
Section Machine.
Variable C : counter_machine.
Definition is_zero (i : interval) : option bool :=
  match i with
  | (Some l, Some u) => if Z.eqb l 0 && Z.eqb u 0 then Some true else if Z.ltb 0 l || Z.ltb u 0 then Some false else None
  | (Some l, None) => if Z.ltb 0 l then Some false else None
  | (None, Some u) => if Z.ltb u 0 then Some false else None
  | _ => None
  end.
Definition is_pos (i : interval) : option bool :=
  match i with
  | (Some l, Some u) => if Z.ltb 0 l then Some true else if Z.leb u 0 then Some false else None
  | (Some l, None) => if Z.ltb 0 l then Some true else None
  | (None, Some u) => if Z.leb u 0 then Some false else None
  | _ => None
  end.
Lemma is_zero_ok z i b : within_z z i -> is_zero i = Some b -> Z.eqb z 0 = b.
Proof.
  destruct i as [[l|] [u|]]; cbn; intros [L U]; cbn in L, U; try discriminate;
    repeat match goal with |- context [if ?e then _ else _] => destruct e eqn:? end; intros E; try discriminate;
    injection E as <-; rewrite ?andb_true_iff, ?orb_true_iff, ?Z.eqb_eq, ?Z.ltb_lt in *; try apply Z.eqb_neq; try apply Z.eqb_eq; lia.
Qed.
Lemma is_pos_ok z i b : within_z z i -> is_pos i = Some b -> Z.ltb 0 z = b.
Proof.
  destruct i as [[l|] [u|]]; cbn; intros [L U]; cbn in L, U; try discriminate;
    repeat match goal with |- context [if ?e then _ else _] => destruct e eqn:? end; intros E; try discriminate;
    injection E as <-; rewrite ?Z.ltb_lt, ?Z.leb_le in *; try apply Z.ltb_ge; try apply Z.ltb_lt; lia.
Qed.
Fixpoint all_of (f : interval -> option bool) (r : region) (cs : list nat) : option bool :=
  match cs with
  | [] => Some true
  | c :: cs => i <- nth_error r c ;; b <- f i ;; e <- all_of f r cs ;; Some (b && e)
  end.
Lemma all_of_ok f g n r : (forall z i b, within_z z i -> f i = Some b -> g z = b) -> zreg n r ->
  forall cs b, all_of f r cs = Some b -> forallb (fun c => g (nth c n 0%Z)) cs = b.
Proof.
  intros K I. induction cs as [|c cs IH]; cbn; intros b E; [now injection E|].
  destruct (nth_error r c) as [i|] eqn:Ei; cbn in E; [|discriminate].
  assert (Z : within_z (nth c n 0%Z) i).
  { clear -I Ei. revert c Ei. induction I; intros [|c]; cbn; try discriminate; [intros E; now injection E as <-|auto]. }
  destruct (f i) as [x|] eqn:Ex; cbn in E; [|discriminate].
  destruct (all_of f r cs) as [y|]; cbn in E; [|discriminate]. injection E as <-.
  now rewrite (K _ _ _ Z Ex), (IH _ eq_refl).
Qed.
Definition decided (r : region) (last : Z) (ru : rule) : option bool :=
  if fits_last ru last then a <- all_of is_zero r (zeros ru) ;; b <- all_of is_pos r (positives ru) ;; Some (a && b) else Some false.
Definition alive := option Z.
Definition alive_tells (n : list Z) (k : alive) (q : option (Z * list Z)) : Prop :=
  match k with None => q = None | Some last => q = Some (last, n) end.
Definition alive_allowed (r : region) (k : alive) : option answer :=
  match k with
  | None => Some (repeat false (cletters C + 1))
  | Some last => fs <- traverse (decided r last) (rules C) ;; Some (what_follows C fs)
  end.
Definition alive_next (r : region) (k : alive) (a : letter) : option alive :=
  match k with
  | None => Some None
  | Some last => x <- alive_allowed r k ;;
      Some (if nth a x false then Some (if looks_back C then Z.of_nat a else (-1)%Z) else None)
  end.
Definition alive_eqb (x y : alive) : bool := bound_eqb x y.
Lemma alive_eqb_ok x y : alive_eqb x y = true -> x = y.
Proof. destruct x, y; cbn; try discriminate; auto. intros E. apply Z.eqb_eq in E. now subst. Qed.

Lemma alive_allowed_ok n r k q x : zreg n r -> alive_tells n k q -> alive_allowed r k = Some x -> counter_allowed C q = x.
Proof.
  intros I T. destruct k as [last|]; cbn in *; subst q; [|intros E; injection E as <-; reflexivity].
  destruct (traverse _ _) as [fs|] eqn:E; cbn; [|discriminate]. intros F; injection F as <-. cbn. f_equal.
  revert fs E. induction (rules C) as [|ru rs IH]; cbn; intros fs E; [now injection E as <-|].
  destruct (decided r last ru) as [b|] eqn:D; cbn in E; [|discriminate].
  destruct (traverse _ rs) as [bs|]; cbn in E; [|discriminate]. injection E as <-. f_equal; auto.
  unfold decided in D. unfold fires. destruct (fits_last ru last); cbn [andb]; [|now injection D].
  destruct (all_of is_zero r (zeros ru)) as [u|] eqn:Z; cbn in D; [|discriminate].
  destruct (all_of is_pos r (positives ru)) as [v|] eqn:P; cbn in D; [|discriminate]. injection D as <-.
  rewrite (@all_of_ok is_zero (fun z => Z.eqb z 0) _ _ is_zero_ok I _ _ Z).
  now rewrite (@all_of_ok is_pos (fun z => Z.ltb 0 z) _ _ is_pos_ok I _ _ P).
Qed.
Definition machine_knowledge : knowledge (counting C) :=
  @Knowledge (counting C) alive alive_tells alive_next alive_allowed alive_eqb alive_eqb_ok
    (fun k => match k with None => 1%Z | Some z => (z + 3)%Z end).
Lemma alive_next_ok n r k q a k' : zreg n r -> alive_tells n k q -> alive_next r k a = Some k' ->
  forall d, nth_error (cadd C) a = Some d -> alive_tells (shift n d) k' (counter_next C q a).
Proof.
  intros I T E d D. destruct k as [last|]; cbn [alive_next] in E.
  - destruct (alive_allowed r (Some last)) as [x|] eqn:A; cbn in E; [|discriminate]. injection E as <-.
    pose proof (alive_allowed_ok _ _ I T A) as Ax. cbn in T. subst q. unfold counter_next. rewrite Ax.
    destruct (nth a x false); cbn; auto. now rewrite (nth_error_nth _ _ [] D).
  - injection E as <-. cbn in *. now subst q.
Qed.
Definition check_machine (t : task) (N : network) (cuts : list (Z * nat)) (shapes : list (list (option form))) (most : nat) : bool :=
  Nat.eqb (num_letters N) (cletters C) &&
  check (@counters t N (counting C) machine_knowledge (cadd C) (cstart C) (Some (-1)%Z) cuts shapes
           eq_refl alive_next_ok alive_allowed_ok) most.
Theorem check_machine_sound t N cuts shapes most : check_machine t N cuts shapes most = true -> correct t N (counting C).
Proof. unfold check_machine. rewrite andb_true_iff. intros [_ K]. eapply check_sound, K. Qed.
End Machine.
