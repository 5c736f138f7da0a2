(* Saturating closure: some coordinates are tallies that only matter up to a cap.  A cell knows a number for every
   coordinate, or of a capped one that it is at least its cap.  The step is evaluated on affine forms whose unknowns are
   the coordinates themselves; afterwards every coordinate has to be a number again, or at least its cap.  Caps are
   hints. *)
From Coq Require Import QArith Qreduction ZArith List Bool Lia Lqa.
From Nerode Require Import Network Related Cover JointClosure Automata Forms.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

Definition at_least (f : form) (r : region) (c : Q) : bool := at_most (form_scale (-1) f) r (- c).
Lemma at_least_ok f r c n : at_least f r c = true -> inreg n r -> c <= eval f n.
Proof. intros A I. pose proof (at_most_ok _ _ A I) as L. rewrite form_scale_ok in L. lra. Qed.
Definition least (f : form) (r : region) : option Q := u <- upper_form (form_scale (-1) f) r ;; Some (- u).

(* The form of coordinate i. *)
Definition unknown (i : nat) : form := (0, repeat 0 i ++ [1]).
Lemma unknown_ok pre x suf : eval (unknown (length pre)) (pre ++ x :: suf) == x.
Proof.
  unfold eval, unknown. cbn [fst snd]. induction pre as [|y pre IH]; cbn [length repeat app linear].
  - destruct suf; cbn; ring.
  - rewrite Qplus_assoc. setoid_replace (0 + 0 * y) with 0 by ring. exact IH.
Qed.

(* One coordinate after a letter: at least its cap, or a number; a tally that may fall is refused. *)
Definition rises (r : region) (old new : form) : bool :=
  match least old r, least new r with Some x, Some y => Qle_bool x y | _, _ => false end.
Definition fold_one (r : region) (i : nat) (cap : option Z) (old new : form) : option (form * interval) :=
  let number := match snd new with [] => Some (new, (None, None)) | _ => None end in
  match cap with
  | None => number
  | Some c =>
      if rises r old new
      then if at_least new r (inject_Z c) then Some (unknown i, (Some c, None)) else number
      else None
  end.
Fixpoint fold_layer (r : region) (i : nat) (caps : list (option Z)) (olds news : list form) : option (list form * region) :=
  match caps, olds, news with
  | [], [], [] => Some ([], [])
  | c :: caps, o :: olds, f :: news =>
      p <- fold_one r i c o f ;; q <- fold_layer r (S i) caps olds news ;; Some (fst p :: fst q, snd p :: snd q)
  | _, _, _ => None
  end.
Fixpoint fold_layers (r : region) (i : nat) (caps : list (list (option Z))) (olds news : states form) : option (states form * region) :=
  match caps, olds, news with
  | [], [], [] => Some ([], [])
  | c :: caps, o :: olds, f :: news =>
      p <- fold_layer r i c o f ;; q <- fold_layers r (i + length f) caps olds news ;; Some (fst p :: fst q, (snd p ++ snd q)%list)
  | _, _, _ => None
  end.

Lemma fold_one_ok n r i cap old new f j x : inreg n r -> fold_one r i cap old new = Some (f, j) -> means n new x ->
  within_i x j /\ forall pre suf, length pre = i -> means (pre ++ x :: suf) f x.
Proof.
  intros I E X. assert (Num : match snd new with [] => Some (new, (None, None)) | _ => None end = Some (f, j) ->
    within_i x j /\ forall pre suf, length pre = i -> means (pre ++ x :: suf) f x).
  { destruct new as [c [|? ?]]; cbn; [|discriminate]. intros F; injection F as <- <-. split; [split; exact Logic.I|].
    intros. unfold means in *. rewrite eval_const in *. exact X. }
  unfold fold_one in E. destruct cap as [c|]; [|auto]. destruct (rises r old new); [|discriminate].
  destruct (at_least new r (inject_Z c)) eqn:A; [|auto]. injection E as <- <-. split.
  - split; cbn; [|exact Logic.I]. unfold means in X. rewrite <- X. eapply at_least_ok; eauto.
  - intros pre suf <-. apply unknown_ok.
Qed.
Lemma fold_layer_ok n r : inreg n r -> forall caps olds news hs i fs r', fold_layer r i caps olds news = Some (fs, r') ->
  Forall2 (means n) news hs ->
  inreg hs r' /\ forall pre suf, length pre = i -> Forall2 (means (pre ++ hs ++ suf)) fs hs.
Proof.
  intros I. induction caps as [|c caps IH]; intros [|o olds] [|f news] hs i fs r' E F; cbn in E; try discriminate.
  - injection E as <- <-. inversion F; subst. split; [constructor|]. intros; constructor.
  - inversion F as [|? x ? xs X Xs]; subst. destruct (fold_one r i c o f) as [[g j]|] eqn:E1; cbn in E; [|discriminate].
    destruct (fold_layer r (S i) caps olds news) as [[gs s]|] eqn:E2; cbn in E; [|discriminate]. injection E as <- <-.
    destruct (@fold_one_ok _ _ _ _ _ _ _ _ _ I E1 X) as [W K]. destruct (IH _ _ _ _ _ _ E2 Xs) as [Ws Ks]. split; [constructor; auto|].
    intros pre suf L. constructor.
    + apply K, L.
    + specialize (Ks (pre ++ [x]) suf). rewrite <- app_assoc in Ks. apply Ks. rewrite app_length. cbn. lia.
Qed.
Lemma same_length n fs hs : Forall2 (means n) fs hs -> length fs = length hs.
Proof. induction 1; cbn; auto. Qed.
Lemma fold_layers_ok n r : inreg n r -> forall caps olds news hs i fs r', fold_layers r i caps olds news = Some (fs, r') ->
  Forall2 (Forall2 (means n)) news hs ->
  inreg (concat hs) r' /\ forall pre, length pre = i -> Forall2 (Forall2 (means (pre ++ concat hs))) fs hs.
Proof.
  intros I. induction caps as [|c caps IH]; intros [|o olds] [|f news] hs i fs r' E F; cbn in E; try discriminate.
  - injection E as <- <-. inversion F; subst. split; [constructor|]. intros; constructor.
  - inversion F as [|? x ? xs X Xs]; subst. destruct (fold_layer r i c o f) as [[g j]|] eqn:E1; cbn in E; [|discriminate].
    destruct (fold_layers r (i + length f) caps olds news) as [[gs s]|] eqn:E2; cbn in E; [|discriminate]. injection E as <- <-.
    destruct (@fold_layer_ok _ _ I _ _ _ _ _ _ _ E1 X) as [W K]. destruct (IH _ _ _ _ _ _ E2 Xs) as [Ws Ks].
    split; [cbn; apply Forall2_app; auto|].
    intros pre L. cbn. constructor; [now apply K|]. rewrite app_assoc. apply Ks.
    rewrite app_length, (same_length X). lia.
Qed.

Section Saturating.
Variables (t : task) (N : network) (M : machine) (eqb : conf M -> conf M -> bool) (conf_mix : conf M -> Z).
Hypothesis eqb_ok : forall x y, eqb x y = true -> x = y.
Variable caps : list (list (option Z)).

Definition capped := (states form * region * conf M)%type.
Definition capped_holds (c : capped) (hs : states Q) (q : conf M) : Prop :=
  inreg (concat hs) (snd (fst c)) /\ Forall2 (Forall2 (means (concat hs))) (fst (fst c)) hs /\ snd c = q.
Definition capped_origin : option capped :=
  fs <- start_states (forms []) N ;; p <- fold_layers [] 0 caps fs fs ;; Some (fst p, snd p, first M).
Definition capped_images (c : capped) (a : letter) : option (list capped) :=
  let '(fs, r, q) := c in
  if skips t (allowed M q) a then Some []
  else
    p <- net_step (forms r) N fs a ;; s <- fold_layers r 0 caps fs (fst p) ;;
    if rightb t (allowed M (next M q a)) (snd p) then Some [(fst s, snd s, next M q a)] else None.
Definition capped_eqb (c d : capped) : bool :=
  eqb (snd c) (snd d) && listb interval_eqb (snd (fst c)) (snd (fst d)) && listb (listb form_eqb) (fst (fst c)) (fst (fst d)).
Definition capped_hash (c : capped) : positive :=
  key (fold_left (fun h l => fold_left (fun h f => mix h (fst f)) l h) (fst (fst c)) (conf_mix (snd c))).

Definition saturating : cover rational t N M.
Proof.
  refine (@Cover Q rational t N M capped capped_holds capped_origin capped_images _ _ capped_eqb _ capped_hash).
  - intros c. unfold capped_origin. destruct (start_states (forms []) N) as [fs|] eqn:E; cbn [bind]; [|discriminate].
    destruct (fold_layers [] 0 caps fs fs) as [[gs r]|] eqn:F; cbn [bind]; [|discriminate]. intros G; injection G as <-.
    assert (I : inreg [] []) by constructor. destruct (start_related (forms_ok I) N E) as (hs & E' & L).
    exists hs. split; auto. destruct (@fold_layers_ok _ _ I _ _ _ _ _ _ _ F L) as [W K]. repeat split; auto. apply (K []); auto.
  - intros [[fs r] q'] hs q a cs (I & Fs & Eq) Sk. cbn in I, Fs, Eq. subst q'. unfold capped_images. rewrite Sk.
    destruct (net_step (forms r) N fs a) as [[fs1 x]|] eqn:Es; cbn [bind fst snd]; [|discriminate].
    destruct (fold_layers r 0 caps fs fs1) as [[gs s]|] eqn:F; cbn [bind fst snd]; [|discriminate].
    destruct (rightb t _ x) eqn:Rx; [|discriminate]. intros G; injection G as <-.
    destruct (step_related (forms_ok I) N a Fs Es) as ([hs' y] & -> & Hs & Hx). cbn in Hs, Hx. subst y.
    exists hs', x. split; auto. split; [now apply rightb_ok|]. eexists; split; [left; reflexivity|].
    destruct (@fold_layers_ok _ _ I _ _ _ _ _ _ _ F Hs) as [W K]. repeat split; auto. apply (K []); auto.
  - intros [[fs r] q] [[fs' r'] q']. unfold capped_eqb; cbn. rewrite !andb_true_iff. intros [[A B] C].
    apply eqb_ok in A. apply listb_ok in B; [|apply interval_eqb_ok].
    apply listb_ok in C; [now subst|]. apply listb_ok, form_eqb_ok.
Defined.
End Saturating.

Definition check_dfa_caps (t : task) (N : network) (D : dfa) (caps : list (list (option Z))) (most : nat) : bool :=
  Nat.eqb (num_letters N) (letters D) && checked_automaton D &&
  check (@saturating t N (automaton D) N.eqb state_hash state_eqb_ok caps) most.
Theorem check_dfa_caps_sound t N D caps most : check_dfa_caps t N D caps most = true -> automaton_claim rational t N D.
Proof.
  unfold check_dfa_caps. rewrite !andb_true_iff, Nat.eqb_eq. intros [[E W] K].
  apply automaton_claim_ok; auto. eapply check_sound, K.
Qed.
Definition check_brackets_caps (t : task) (N : network) (kinds : nat) (depth : option nat) (caps : list (list (option Z))) (most : nat) : bool :=
  Nat.eqb (num_letters N) (2 * kinds) &&
  check (@saturating t N (brackets kinds depth) conf_eqb conf_hash conf_eqb_ok caps) most.
Theorem check_brackets_caps_sound t N k d caps most : check_brackets_caps t N k d caps most = true -> correct t N (brackets k d).
Proof. unfold check_brackets_caps. rewrite andb_true_iff. intros [_ K]. eapply check_sound, K. Qed.
