(* The step is parametric in its arithmetic: one step in two related arithmetics gives related results.

   `orel S x y` says: where x is defined, y is defined and S holds of the two.  So an arithmetic that is undefined
   more often than another is related to it, and whatever is proved in the first holds in the second. *)
From Coq Require Import QArith List Bool Arith Lia.
From Nerode Require Import Network.
Import ListNotations.
Set Implicit Arguments.

Definition orel {A B} (S : A -> B -> Prop) (x : option A) (y : option B) : Prop :=
  forall a, x = Some a -> exists b, y = Some b /\ S a b.

Lemma orel_some {A B} (S : A -> B -> Prop) a b : S a b -> orel S (Some a) (Some b).
Proof. intros H a' E; injection E as <-; eauto. Qed.
Lemma orel_none {A B} (S : A -> B -> Prop) y : orel S None y.
Proof. intros a' E; discriminate. Qed.
Lemma orel_bind {A B C D} (S : A -> B -> Prop) (T : C -> D -> Prop) x y f g :
  orel S x y -> (forall a b, S a b -> orel T (f a) (g b)) -> orel T (bind x f) (bind y g).
Proof.
  intros H K c E. destruct x as [a|]; [|discriminate]. destruct (H a eq_refl) as (b & -> & Sab).
  exact (K _ _ Sab c E).
Qed.
Lemma orel_refl {A} (x : option A) : orel eq x x.
Proof. intros a ->; eauto. Qed.

Lemma traverse_rel {A B C D} (S : A -> B -> Prop) (T : C -> D -> Prop) f g l m :
  (forall a b, S a b -> orel T (f a) (g b)) -> Forall2 S l m -> orel (Forall2 T) (traverse f l) (traverse g m).
Proof.
  intros H L. induction L as [|a b l m ? ? IH]; cbn; [now apply orel_some|].
  eapply orel_bind; [eapply H; eassumption|intros]. eapply orel_bind; [exact IH|intros].
  apply orel_some; constructor; assumption.
Qed.
Lemma zip_rel {A B A' B' C D} (S : A -> B -> Prop) (S' : A' -> B' -> Prop) (T : C -> D -> Prop) f g l m l' m' :
  (forall a b a' b', S a b -> S' a' b' -> orel T (f a a') (g b b')) ->
  Forall2 S l m -> Forall2 S' l' m' -> orel (Forall2 T) (zip f l l') (zip g m m').
Proof.
  intros H L. revert l' m'. induction L as [|a b l m ? ? IH]; intros l' m' L'; inversion L'; subst; cbn;
    try apply orel_none; [now apply orel_some|].
  eapply orel_bind; [eapply H; eassumption|intros]. eapply orel_bind; [now apply IH|intros].
  apply orel_some; constructor; assumption.
Qed.
Lemma nth_rel {A B} (S : A -> B -> Prop) l m : Forall2 S l m -> forall i, orel S (nth_error l i) (nth_error m i).
Proof.
  induction 1; intros [|i]; cbn; try apply orel_none; [now apply orel_some|]. apply IHForall2.
Qed.
(* Lists as balanced trees: entry 0 is at the root, the odd ones are to the left, the other even ones to the right. *)
Inductive balanced A := Empty | Fork (x : A) (odds evens : balanced A).
Arguments Empty {A}.
Fixpoint push {A} (x : A) (t : balanced A) : balanced A :=
  match t with Empty => Fork x Empty Empty | Fork y l r => Fork x (push y r) l end.
Fixpoint fetch {A} (t : balanced A) (i : nat) : option A :=
  match t, i with
  | Empty, _ => None
  | Fork x _ _, O => Some x
  | Fork _ l r, S i => let h := Nat.div2 i in fetch (if h + h =? i then l else r)%nat h
  end.
Lemma fetch_push A (t : balanced A) : forall x i,
  fetch (push x t) i = match i with O => Some x | S i => fetch t i end.
Proof.
  induction t as [|y l _ r IH]; intros x [|i]; cbn [push fetch]; auto.
  - cbv zeta. now destruct (_ =? _)%nat.
  - cbv zeta. destruct i as [|i]; [cbn; now rewrite IH|]. pose proof (Nat.div2_odd i) as H. pose proof (Nat.div2_odd (S i)) as K.
    destruct (Nat.odd i), (Nat.odd (S i)); cbn [Nat.b2n] in H, K; try lia;
      destruct (Nat.eqb_spec (Nat.div2 i + Nat.div2 i) i), (Nat.eqb_spec (Nat.div2 (S i) + Nat.div2 (S i)) (S i)); try lia.
    + rewrite IH. now replace (Nat.div2 (S i)) with (S (Nat.div2 i)) by lia.
    + now replace (Nat.div2 (S i)) with (Nat.div2 i) by lia.
Qed.
Definition quick_entry {A} (l : list A) : nat -> option A := fetch (fold_right push Empty l).
Lemma quick_entry_ok {A} (l : list A) : forall i, quick_entry l i = nth_error l i.
Proof. induction l as [|x l IH]; intros i; [now destruct i|]. cbn. rewrite fetch_push. destruct i; [auto|apply IH]. Qed.
Lemma quick_rel {A B} (S : A -> B -> Prop) l m : Forall2 S l m -> forall i, orel S (quick_entry l i) (nth_error m i).
Proof. intros L i. rewrite quick_entry_ok. now apply nth_rel. Qed.
Lemma same_list {A} (l : list A) : Forall2 eq l l.
Proof. induction l; constructor; auto. Qed.

Lemma orel_eq_list {A} (x y : option (list A)) : orel (Forall2 eq) x y -> orel eq x y.
Proof.
  intros K a E. destruct (K a E) as (b & ? & F). exists b; split; auto. clear -F. induction F; congruence.
Qed.

Section Related.
Variables (V W : Type) (O : arithmetic V) (P : arithmetic W) (R : V -> W -> Prop).

Definition RT (x : Q * V) (y : Q * W) : Prop := fst x = fst y /\ R (snd x) (snd y).

Record related : Prop := Rel {
  Rconst : forall c, orel R (const O c) (const P c);
  Rsum : forall b l m, Forall2 RT l m -> orel R (sum O b l) (sum P b m);
  Rgated : forall g g' h h' x x', R g g' -> R h h' -> R x x' -> orel R (gated O g h x) (gated P g' h' x');
  Rrelu : forall v w, R v w -> orel R (relu O v) (relu P w);
  Rabove : forall v w c, R v w -> orel eq (above O v c) (above P w c);
  Rgreater : forall v w v' w', R v w -> R v' w' -> orel eq (greater O v v') (greater P w w');
  Rentry : forall l m, Forall2 R l m -> forall i, orel R (entry O l i) (entry P m i) }.

Hypothesis H : related.
Local Hint Resolve orel_some orel_none orel_refl same_list : core.

Notation RL := (Forall2 R).

Lemma term_rel c v w : R v w -> RT (c, v) (c, w).
Proof. split; auto. Qed.
Local Hint Resolve term_rel : core.
Lemma row_value_rel l l' r : RL l l' -> orel R (row_value O (entry O l) r) (row_value P (entry P l') r).
Proof.
  intros L. eapply orel_bind; [|intros; apply (Rsum H); eassumption].
  eapply (@traverse_rel _ _ _ _ eq); [|apply same_list]. intros [i c] ? <-. cbn.
  eapply orel_bind; [now apply (Rentry H)|]. intros; apply orel_some; auto.
Qed.
Lemma map_values_rel m l l' : RL l l' -> orel RL (map_values O m l) (map_values P m l').
Proof.
  intros L. unfold map_values. eapply (@traverse_rel _ _ _ _ eq); [|apply same_list].
  intros a ? <-. now apply row_value_rel.
Qed.
Lemma relu_values_rel m l l' : RL l l' -> orel RL (relu_values O m l) (relu_values P m l').
Proof.
  intros L. eapply orel_bind; [now apply map_values_rel|]. intros. eapply traverse_rel; [|eassumption].
  intros; now apply (Rrelu H).
Qed.
Lemma activate_rel f l l' : RL l l' -> orel RL (activate O f l) (activate P f l').
Proof.
  intros L. destruct f; cbn; [now apply orel_some| |]; eapply traverse_rel; try eassumption.
  - intros; now apply (Rrelu H).
  - intros. eapply orel_bind; [now apply (Rrelu H)|intros]. eapply orel_bind.
    + eapply orel_bind; [apply (Rsum H); repeat constructor; auto|]. intros; now apply (Rrelu H).
    + intros. apply (Rsum H); repeat constructor; auto.
Qed.
Lemma nonzero_rel u : forall h h', RL h h' -> Forall2 RT (nonzero u h) (nonzero u h').
Proof.
  induction u; cbn; intros h h' L; [constructor|]. inversion L; subst; [constructor|].
  destruct (Qeq_bool a 0); auto.
Qed.
Lemma dot_rel u h h' : RL h h' -> orel R (dot O u h) (dot P u h').
Proof. intros. apply (Rsum H). now apply nonzero_rel. Qed.
Lemma reflect_rel f h h' : RL h h' -> orel RL (reflect O h f) (reflect P h' f).
Proof.
  intros L. eapply orel_bind; [now apply dot_rel|]. intros d d' D.
  eapply orel_bind; [apply (Rsum H); repeat constructor; auto|]. intros m m' ?.
  eapply (@zip_rel _ _ _ _ _ _ eq R); [|apply same_list|eassumption].
  intros c ? v w <- ?. destruct (Qeq_bool c 0); [now apply orel_some|]. apply (Rsum H); repeat constructor; auto.
Qed.
Lemma reflect_all_rel fs : forall h h', RL h h' -> orel RL (reflect_all O fs h) (reflect_all P fs h').
Proof.
  induction fs; cbn; intros; [now apply orel_some|]. eapply orel_bind; [now apply reflect_rel|auto].
Qed.
Lemma equals_rel v w c : R v w -> orel eq (equals O v c) (equals P w c).
Proof.
  intros. eapply orel_bind; [now apply (Rabove H)|]. intros ? ? <-.
  eapply orel_bind; [apply (Rsum H); repeat constructor; auto|intros].
  eapply orel_bind; [now apply (Rabove H)|]. intros ? ? <-. now apply orel_some.
Qed.
Lemma selected_rel l m : RL l m -> forall i, orel eq (selected O l i) (selected P m i).
Proof.
  induction 1; cbn; intros; [now apply orel_some|]. eapply orel_bind; [apply IHForall2|]. intros r ? <-.
  eapply orel_bind; [now apply equals_rel|]. intros z ? <-. destruct z; [now apply orel_some|].
  eapply orel_bind; [now apply equals_rel|]. intros o ? <-. apply orel_refl.
Qed.
Definition pair2 {A B C D} (S : A -> B -> Prop) (T : C -> D -> Prop) p q := S (fst p) (fst q) /\ T (snd p) (snd q).

Lemma gated_values_rel g g' h h' w w' :
  RL g g' -> RL h h' -> RL w w' -> orel RL (gated_values O g h w) (gated_values P g' h' w').
Proof.
  intros. unfold gated_values. eapply orel_bind.
  - eapply (@zip_rel _ _ _ _ _ _ R R (pair2 R R)); try eassumption. intros; apply orel_some; split; auto.
  - intros. eapply zip_rel; try eassumption. intros ? ? ? ? [] ?; now apply (Rgated H).
Qed.
Lemma head_rel k p q : pair2 R R p q -> orel eq (head O k p) (head P k q).
Proof.
  intros [A B]. unfold head. destruct k; [|now apply orel_some].
  eapply orel_bind; [now apply equals_rel|]. intros z ? <-. destruct z; [now apply orel_some|].
  eapply orel_bind; [now apply equals_rel|]. intros ? ? <-. eapply orel_bind; [now apply equals_rel|]. intros ? ? <-.
  apply orel_refl.
Qed.
Lemma do_move_rel m a t t' h h' : RL t t' -> RL h h' -> orel RL (do_move O m a t h) (do_move P m a t' h').
Proof.
  intros T L. destruct m; cbn [do_move].
  - eapply orel_bind; [now apply map_values_rel|intros]. eapply orel_bind; [now apply map_values_rel|intros].
    now apply gated_values_rel.
  - eapply orel_bind; [now apply map_values_rel|intros]. eapply orel_bind; [now apply map_values_rel|intros].
    eapply orel_bind.
    + eapply (@zip_rel _ _ _ _ _ _ R R (pair2 R R)); try eassumption. intros; apply orel_some; split; auto.
    + intros. eapply orel_bind.
      * eapply (@zip_rel _ _ _ _ _ _ eq (pair2 R R) eq); [|apply same_list|eassumption].
        intros ? ? ? ? <- ?. now apply head_rel.
      * intros. now apply gated_values_rel.
  - eapply orel_bind; [apply map_values_rel; now apply Forall2_app|intros; now apply activate_rel].
  - eapply orel_bind; [apply orel_refl|]. intros ? ? <-. apply map_values_rel; now apply Forall2_app.
  - eapply orel_bind; [now apply map_values_rel|intros]. eapply orel_bind; [now apply selected_rel|]. intros ? ? <-.
    eapply orel_bind; [apply orel_refl|]. intros ? ? <-. eapply orel_bind; [apply orel_refl|]. intros ? ? <-.
    apply map_values_rel; now apply Forall2_app.
  - eapply orel_bind; [apply orel_refl|]. intros ? ? <-. eapply orel_bind; [apply orel_refl|]. intros ? ? <-.
    eapply orel_bind; [now apply reflect_all_rel|intros]. eapply zip_rel; try eassumption; [|apply same_list].
    intros ? ? ? ? ? <-. apply (Rsum H); repeat constructor; auto.
Qed.

Lemma read_rel l m is : RL l m -> orel RL (traverse (entry O l) is) (traverse (entry P m) is).
Proof.
  intros. eapply (@traverse_rel _ _ _ _ eq); [|apply same_list]. intros ? ? <-. now apply (Rentry H).
Qed.
Lemma layer_rel l a s s' h h' :
  RL s s' -> RL h h' -> orel (pair2 RL RL) (layer_step O l a s h) (layer_step P l a s' h').
Proof.
  intros T L. unfold layer_step.
  eapply orel_bind; [now apply read_rel|intros]. eapply orel_bind; [now apply relu_values_rel|intros].
  eapply orel_bind; [apply do_move_rel; auto using Forall2_app|intros].
  assert (RL (if exposes_previous l then h else []) (if exposes_previous l then h' else []))
    by (destruct (exposes_previous l); auto).
  eapply orel_bind; [apply relu_values_rel; auto using Forall2_app|intros].
  eapply orel_bind; [apply map_values_rel; auto 6 using Forall2_app|intros].
  apply orel_some. split; cbn; auto using Forall2_app.
Qed.
Lemma layers_rel a ls : forall s s' hs hs', RL s s' -> Forall2 RL hs hs' ->
  orel (pair2 (Forall2 RL) RL) (layers_step O ls a s hs) (layers_step P ls a s' hs').
Proof.
  induction ls; cbn; intros s s' hs hs' S L; inversion L; subst; try apply orel_none.
  - now apply orel_some.
  - eapply orel_bind; [now apply layer_rel|]. intros p q [].
    eapply orel_bind; [now apply IHls|]. intros p' q' []. apply orel_some. split; cbn; auto.
Qed.
Lemma largest_rel l m : Forall2 (pair2 R eq) l m -> forall p q, pair2 R eq p q ->
  orel (pair2 R eq) (largest O p l) (largest P q m).
Proof.
  induction 1 as [|x y l m [? ?] ? IH]; cbn; intros p q [? ?]; [now apply orel_some|].
  eapply orel_bind; [now apply (Rgreater H)|]. intros e ? <-. apply IH. destruct e; split; auto.
Qed.
Lemma leads_rel l m p q : pair2 R eq p q -> Forall2 (pair2 R eq) l m -> orel eq (leads O p l) (leads P q m).
Proof.
  intros [? E]. induction 1 as [|x y l m [? F] ? IH]; cbn; [now apply orel_some|].
  eapply orel_bind; [now apply (Rgreater H)|]. intros e ? <-. rewrite <- E, <- F.
  destruct e; auto. destruct (same _ _); [auto|apply orel_none].
Qed.
Lemma answer_rel d s s' : RL s s' -> orel eq (answer_of O d s) (answer_of P d s').
Proof.
  intros S. destruct d; cbn; (eapply orel_bind; [now apply read_rel|intros]).
  - eapply orel_bind; [now apply relu_values_rel|intros].
    eapply orel_bind; [apply map_values_rel; auto using Forall2_app|intros].
    apply orel_eq_list. eapply traverse_rel; [|eassumption]. intros; now apply (Rabove H).
  - eapply orel_bind.
    + eapply (@traverse_rel _ _ _ _ eq (pair2 R eq)); [|apply same_list]. intros p ? <-.
      eapply orel_bind; [now apply dot_rel|]. intros; apply orel_some; split; auto.
    + intros l m L. destruct L as [|x y l m X L]; [apply orel_none|].
      eapply orel_bind; [eapply largest_rel; eassumption|]. intros p q D.
      eapply orel_bind; [apply leads_rel; [exact D|now constructor]|]. intros. destruct D as [_ ->]. apply orel_refl.
Qed.
Lemma const_list l : orel RL (traverse (const O) l) (traverse (const P) l).
Proof. eapply (@traverse_rel _ _ _ _ eq); [|apply same_list]. intros ? ? <-. apply (Rconst H). Qed.

(* The main theorem of this file. *)
Theorem step_related N a hs hs' : Forall2 RL hs hs' ->
  orel (pair2 (Forall2 RL) eq) (net_step O N hs a) (net_step P N hs' a).
Proof.
  intros L. eapply orel_bind; [apply orel_refl|]. intros e ? <-.
  eapply orel_bind; [apply const_list|intros]. eapply orel_bind; [now apply layers_rel|]. intros p q [].
  eapply orel_bind; [now apply answer_rel|]. intros x ? <-. apply orel_some. split; auto.
Qed.
Lemma start_related N : orel (Forall2 RL) (start_states O N) (start_states P N).
Proof. eapply (@traverse_rel _ _ _ _ eq); [|apply same_list]. intros ? ? <-. apply const_list. Qed.
End Related.
Lemma self_related V (O : arithmetic V) : related O O eq.
Proof.
  assert (E : forall A (l m : list A), Forall2 eq l m -> l = m) by (induction 1; congruence).
  split; intros; subst; try apply orel_refl.
  - assert (l = m) as -> by (clear -H; induction H as [|[? ?] [? ?] ? ? [? ?]]; cbn in *; congruence). apply orel_refl.
  - rewrite (E _ l m) by auto. apply orel_refl.
Qed.
