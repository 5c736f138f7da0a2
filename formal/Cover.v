(* Covers: cells that together hold every state that a run can be in.  Every method of proof that walks over cells is
   an instance of `cover`; it has to show three things: that the first cell holds the start (`origin_ok`), that one
   step leads from a cell into its images with the right answer (`images_ok`), and that a cell inside another holds
   less (`inside_ok`).  `check_sound`: if the walk ends, the network is correct at every length. *)
From Coq Require Import QArith List Bool Arith FMapPositive Lia.
From Nerode Require Import Network Related.
Import ListNotations.
Set Implicit Arguments.

Definition rightb (t : task) (expected got : answer) : bool :=
  match t with Recognise => Bool.eqb (last expected false) (last got false) | _ => same expected got end.
Lemma same_ok x : forall y, same x y = true -> x = y.
Proof.
  induction x; destruct y; cbn; try discriminate; auto. rewrite andb_true_iff. intros [E ?].
  apply eqb_prop in E. f_equal; auto.
Qed.
Lemma rightb_ok t x y : rightb t x y = true -> right t x y.
Proof. destruct t; cbn; auto using same_ok, eqb_prop. Qed.
(* letters that need not be read *)
Definition skips (t : task) (x : answer) (a : letter) : bool :=
  match t with ValidPrefixes => negb (nth a x false) | _ => false end.
Lemma within_cons t M q a w :
  within t M q (a :: w) -> skips t (allowed M q) a = false /\ within t M (next M q a) w.
Proof. destruct t; cbn; auto. intros [-> ?]; auto. Qed.

Record cover W (A : arithmetic W) (t : task) (N : network) (M : machine) := Cover {
  cell : Type;
  holds : cell -> states W -> conf M -> Prop;
  origin : option cell;
  images : cell -> letter -> option (list cell);
  origin_ok : forall c, origin = Some c -> exists hs, start_states A N = Some hs /\ holds c hs (first M);
  images_ok : forall c hs q a cs, holds c hs q -> skips t (allowed M q) a = false -> images c a = Some cs ->
    exists hs' x, net_step A N hs a = Some (hs', x) /\ right t (allowed M (next M q a)) x /\
    exists d, In d cs /\ holds d hs' (next M q a);
  inside : cell -> cell -> bool;
  inside_ok : forall c d, inside c d = true -> forall hs q, holds c hs q -> holds d hs q;
  hash : cell -> positive }.                           (* any function; only the time depends on it *)

Section Walk.
Variables (W : Type) (A : arithmetic W) (t : task) (N : network) (M : machine) (C : cover A t N M).

(* Found cells, by their hashes. *)
Definition store := PositiveMap.t (list (cell C)).
Definition bucket (h : positive) (s : store) : list (cell C) :=
  match PositiveMap.find h s with Some l => l | None => [] end.
Definition put (c : cell C) (s : store) : store := PositiveMap.add (hash C c) (c :: bucket (hash C c) s) s.
Definition mem (c : cell C) (s : store) : bool := existsb (inside C c) (bucket (hash C c) s).

(* The walk: a layer of cells that are not yet expanded, the store, and new cells that are found. *)
Definition visit (p : list (cell C) * store) (d : cell C) : list (cell C) * store :=
  if mem d (snd p) then p else (d :: fst p, put d (snd p)).
Fixpoint expand_letters (c : cell C) (l : list letter) (p : list (cell C) * store) : option (list (cell C) * store) :=
  match l with
  | [] => Some p
  | a :: l => ds <- images C c a ;; expand_letters c l (fold_left visit ds p)
  end.
Definition all_letters : list letter := seq 0 (num_letters N).
Fixpoint expand (cs : list (cell C)) (p : list (cell C) * store) : option (list (cell C) * store) :=
  match cs with
  | [] => Some p
  | c :: cs => q <- expand_letters c all_letters p ;; expand cs q
  end.
Fixpoint walk (rounds most : nat) (layer : list (cell C)) (s : store) : option store :=
  match layer, rounds with
  | [], _ => Some s
  | _, O => None
  | _, S rounds =>
      if (length layer <=? most)%nat
      then p <- expand layer ([], s) ;; walk rounds (most - length layer) (fst p) (snd p)
      else None
  end.
(* `most` bounds the number of cells; a walk that needs more fails. *)
Definition check (most : nat) : bool :=
  rightb t (allowed M (first M)) (empty_answer N) &&
  match origin C with
  | Some c => match walk most most [c] (put c (PositiveMap.empty _)) with Some _ => true | None => false end
  | None => false
  end.

Definition known (s : store) (c : cell C) : Prop := exists h, In c (bucket h s).
Definition covered (s : store) (d : cell C) : Prop := exists e, known s e /\ (d = e \/ inside C d e = true).
Definition done (s : store) (c : cell C) : Prop :=
  forall a, In a all_letters -> exists ds, images C c a = Some ds /\ forall d, In d ds -> covered s d.
Definition grows (p q : list (cell C) * store) : Prop :=
  (forall c, known (snd p) c -> known (snd q) c) /\ (forall c, In c (fst p) -> In c (fst q)) /\
  (forall c, known (snd q) c -> known (snd p) c \/ In c (fst q)).

Lemma put_bucket c s h : bucket h (put c s) = if Pos.eq_dec h (hash C c) then c :: bucket h s else bucket h s.
Proof.
  unfold bucket at 1, put. destruct (Pos.eq_dec h (hash C c)) as [->|Ne].
  - now rewrite PositiveMap.gss.
  - now rewrite PositiveMap.gso.
Qed.
Lemma put_new c s : known (put c s) c.
Proof. exists (hash C c). rewrite put_bucket. destruct (Pos.eq_dec _ _); [now left|congruence]. Qed.
Lemma put_old c s d : known s d -> known (put c s) d.
Proof. intros [h I]. exists h. rewrite put_bucket. destruct (Pos.eq_dec _ _); [now right|auto]. Qed.
Lemma put_only c s d : known (put c s) d -> d = c \/ known s d.
Proof.
  intros [h I]. rewrite put_bucket in I. destruct (Pos.eq_dec _ _); [destruct I as [->|I]|]; auto; right; exists h; auto.
Qed.
Lemma mem_ok c s : mem c s = true -> covered s c.
Proof.
  unfold mem. rewrite existsb_exists. intros (e & I & E). exists e. split; auto. exists (hash C c). exact I.
Qed.
Lemma grows_refl p : grows p p.
Proof. repeat split; auto. Qed.
Lemma grows_trans p q r : grows p q -> grows q r -> grows p r.
Proof.
  intros (A1 & A2 & A3) (B1 & B2 & B3). repeat split; auto. intros c K. destruct (B3 c K) as [K'|]; auto.
  destruct (A3 c K') as [|]; auto.
Qed.
Lemma covered_grows p q d : grows p q -> covered (snd p) d -> covered (snd q) d.
Proof. intros (K & _) (e & ? & ?). exists e; auto. Qed.
Lemma visit_ok p d : grows p (visit p d) /\ covered (snd (visit p d)) d.
Proof.
  unfold visit. destruct (mem d (snd p)) eqn:E; [split; [apply grows_refl|now apply mem_ok]|]. cbn. split.
  - repeat split; cbn; auto using put_old. intros c K. destruct (@put_only _ _ _ K) as [->|]; auto.
  - exists d. split; auto using put_new.
Qed.
Lemma visit_all ds : forall p, grows p (fold_left visit ds p) /\
  forall d, In d ds -> covered (snd (fold_left visit ds p)) d.
Proof.
  induction ds as [|x ds IH]; cbn; intros p; [split; [apply grows_refl|intros d []]|].
  destruct (visit_ok p x) as [G K]. destruct (IH (visit p x)) as [G' K']. split; [eauto using grows_trans|].
  intros d [->|I]; eauto using covered_grows.
Qed.
Lemma expand_letters_ok c l : forall p q, expand_letters c l p = Some q -> grows p q /\
  forall a, In a l -> exists ds, images C c a = Some ds /\ forall d, In d ds -> covered (snd q) d.
Proof.
  induction l as [|a l IH]; cbn; intros p q.
  - intros E; injection E as <-. split; [apply grows_refl|intros a []].
  - destruct (images C c a) as [ds|] eqn:Im; cbn; [|discriminate]. intros E.
    destruct (visit_all ds p) as [G K]. destruct (IH _ _ E) as [G' K']. split; [eauto using grows_trans|].
    intros b [<-|I]; auto. exists ds. split; auto. intros; eauto using covered_grows.
Qed.
Lemma done_grows p q c : grows p q -> done (snd p) c -> done (snd q) c.
Proof. intros G D a I. destruct (D a I) as (ds & ? & K). exists ds. split; auto. intros; eauto using covered_grows. Qed.
Lemma expand_ok cs : forall p q, expand cs p = Some q -> grows p q /\ forall c, In c cs -> done (snd q) c.
Proof.
  induction cs as [|c cs IH]; cbn; intros p q.
  - intros E; injection E as <-. split; [apply grows_refl|intros c []].
  - destruct (expand_letters c all_letters p) as [r|] eqn:El; cbn; [|discriminate]. intros E.
    destruct (expand_letters_ok _ _ _ El) as [G K]. destruct (IH _ _ E) as [G' K']. split; [eauto using grows_trans|].
    intros d [<-|I]; auto. eapply done_grows; [exact G'|exact K].
Qed.
Lemma walk_ok rounds : forall most layer s s', walk rounds most layer s = Some s' ->
  (forall c, known s c -> In c layer \/ done s c) ->
  (forall c, known s c -> known s' c) /\ forall c, known s' c -> done s' c.
Proof.
  induction rounds as [|rounds IH]; intros most [|c layer] s s'; cbn [walk]; try discriminate;
    try (intros E; injection E as <-; intros K; split; auto; intros d I; destruct (K d I) as [[]|]; auto; fail).
  destruct (_ <=? most)%nat; [|discriminate]. intros E K. destruct (expand (c :: layer) ([], s)) as [p|] eqn:Ex; cbn [bind] in E; [|discriminate].
  destruct (expand_ok _ _ Ex) as [G D]. destruct (IH _ _ _ _ E) as [K1 K2].
  - intros d Kd. destruct (proj2 (proj2 G) d Kd) as [Ks|]; auto. right. destruct (K d Ks) as [I|Dd]; auto.
    exact (done_grows G Dd).
  - split; auto. intros d Ks. apply K1, (proj1 G), Ks.
Qed.

Lemma covered_holds s d hs q : covered s d -> holds C d hs q -> exists e, known s e /\ holds C e hs q.
Proof. intros (e & K & [->|I]) H; [eauto|]. exists e. split; eauto using inside_ok. Qed.
Lemma closed_run s : (forall c, known s c -> done s c) -> forall w c hs q x,
  known s c -> holds C c hs q -> right t (allowed M q) x -> over (num_letters N) w ->
  within t M q w -> exists y, run A N hs x w = Some y /\ right t (allowed M (fold_left (next M) w q)) y.
Proof.
  intros D. induction w as [|a w IH]; cbn; intros c hs q x K Hc Rx Ov Va; [eauto|].
  inversion Ov as [|? ? La Ov']; subst.
  destruct (D c K a) as (ds & Im & Cd); [apply in_seq; lia|].
  destruct (within_cons _ _ _ _ _ Va) as [Sk Va'].
  destruct (images_ok C _ _ _ _ Hc Sk Im) as (hs' & y & -> & Ry & d & Id & Hd). cbn.
  destruct (@covered_holds _ _ _ _ (Cd d Id) Hd) as (e & Ke & He). eauto.
Qed.

Theorem check_sound most : check most = true -> correct_in A t N M.
Proof.
  unfold check. rewrite andb_true_iff. intros [Em Wa] w Ov Wi.
  destruct (origin C) as [o|] eqn:Eo; [|discriminate].
  destruct (walk most most [o] (put o (PositiveMap.empty _))) as [s|] eqn:Ew; [|discriminate].
  destruct (@walk_ok _ _ _ _ _ Ew) as [K D].
  { intros c Kc. left. destruct (@put_only _ _ _ Kc) as [->|[h I]]; [now left|]. unfold bucket in I.
    rewrite PositiveMap.gempty in I. destruct I. }
  destruct (origin_ok C Eo) as (hs & Es & Ho).
  unfold answer_in, after. rewrite Es. cbn. eapply closed_run; eauto using rightb_ok, put_new.
Qed.
End Walk.
