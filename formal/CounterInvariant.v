(* Counter invariants: cells with unknown whole numbers.  Values are affine forms over counters to which every letter
   adds a fixed amount; a cell knows an interval for each counter.  Increments, cuts and shapes are hints: whatever
   they are, `counters` is a cover, so a wrong hint only makes the check fail. *)
From Coq Require Import QArith Qreduction ZArith List Bool Lia Lqa.
From Nerode Require Import Network Related Cover JointClosure Forms.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

(* whole numbers in a region *)
Definition whole (n : list Z) : list Q := map inject_Z n.
Definition within_z (z : Z) (i : interval) : Prop :=
  match fst i with Some l => (l <= z)%Z | None => True end /\ match snd i with Some u => (z <= u)%Z | None => True end.
Definition zreg (n : list Z) (r : region) : Prop := Forall2 within_z n r.
Lemma zreg_in n r : zreg n r -> inreg (whole n) r.
Proof.
  induction 1 as [|z i n r [L U] ? IH]; cbn; constructor; auto.
  split; [destruct (fst i)|destruct (snd i)]; auto; now rewrite <- Zle_Qle.
Qed.

(* ---- what is known of the configuration of the language ---- *)
Record knowledge (M : machine) := Knowledge {
  known : Type;
  tells : list Z -> known -> conf M -> Prop;
  known_next : region -> known -> letter -> option known;      (* after the letter, of the new counters *)
  known_allowed : region -> known -> option answer;
  known_eqb : known -> known -> bool;
  known_eqb_ok : forall k l, known_eqb k l = true -> k = l;
  known_hash : known -> Z }.

Section CounterInvariant.
Variables (t : task) (N : network) (M : machine) (K : knowledge M).
Variable increments : list (list Z).          (* by letter, for each counter *)
Variables (start_at : list Z) (first_known : known K).
Variable cuts : list (Z * nat).               (* for each counter: values p .. p + n are cells of their own *)
Variable shapes : list (list (option form)).  (* for some coordinates: the form that they always have *)

Hypothesis tells_first : tells K start_at first_known (first M).
Hypothesis tells_next : forall n r k q a k', zreg n r -> tells K n k q -> known_next K r k a = Some k' ->
  forall d, nth_error increments a = Some d -> tells K (shift n d) k' (next M q a).
Hypothesis tells_allowed : forall n r k q x, zreg n r -> tells K n k q -> known_allowed K r k = Some x ->
  allowed M q = x.

Definition shift_bound (b : option Z) (d : Z) : option Z := z <- b ;; Some (z + d)%Z.
Definition shift_region (r : region) (d : list Z) : region :=
  map (fun p => (shift_bound (fst (fst p)) (snd p), shift_bound (snd (fst p)) (snd p))) (combine r d).
Lemma shift_in n r : zreg n r -> forall d, zreg (shift n d) (shift_region r d).
Proof.
  induction 1 as [|z i n r [L U] ? IH]; intros [|x d]; cbn; try constructor.
  - split; cbn; [destruct (fst i)|destruct (snd i)]; cbn; auto; lia.
  - apply IH.
Qed.
Fixpoint drift (cs : list Q) (d : list Z) : Q :=
  match cs, d with c :: cs, z :: d => fadd (fmul c (inject_Z z)) (drift cs d) | _, _ => 0 end.
(* the same number, said of the counters after the letter *)
Definition restate (d : list Z) (f : form) : form :=
  match snd f with [] => f | _ => (fadd (fst f) (fmul (-1) (drift (snd f) d)), snd f) end.
Lemma restate_ok f n d : length n = length d -> eval (restate d f) (whole (shift n d)) == eval f (whole n).
Proof.
  intros L. assert (S : forall cs, linear cs (whole (shift n d)) == linear cs (whole n) + drift cs d).
  { revert d L. induction n as [|z n IH]; intros [|x d] L [|c cs]; cbn; try discriminate; try ring.
    injection L as L. rewrite fadd_ok, fmul_ok. fold (shift n d). fold (whole (shift n d)) (whole n). rewrite (IH _ L), inject_Z_plus. ring. }
  unfold restate. destruct f as [c [|e l]]; cbn [snd fst].
  - now rewrite !eval_const.
  - unfold eval. cbn [fst snd]. rewrite fadd_ok, fmul_ok, S. ring.
Qed.

(* pieces of the line *)
Definition piece (z : Z) (p : Z * nat) : interval :=
  if (z <? fst p)%Z then (None, Some (fst p - 1)%Z)
  else if (fst p + Z.of_nat (snd p) <? z)%Z then (Some (fst p + Z.of_nat (snd p) + 1)%Z, None)
  else (Some z, Some z).
Definition pieces (i : interval) (p : Z * nat) : list interval :=
  let lo := fst p in
  let hi := (fst p + Z.of_nat (snd p))%Z in
  (match fst i with Some l => if (l <? lo)%Z then [(None, Some (lo - 1)%Z)] else [] | None => [(None, Some (lo - 1)%Z)] end) ++
  (match snd i with Some u => if (hi <? u)%Z then [(Some (hi + 1)%Z, None)] else [] | None => [(Some (hi + 1)%Z, None)] end) ++
  map (fun z => (Some z, Some z))
    (filter (fun z => match fst i with Some l => (l <=? z)%Z | None => true end &&
                      match snd i with Some u => (z <=? u)%Z | None => true end)
      (map (fun j => (lo + Z.of_nat j)%Z) (seq 0 (S (snd p))))).
Fixpoint split (r : region) (ps : list (Z * nat)) : list region :=
  match r, ps with
  | i :: r, p :: ps => flat_map (fun j => map (cons j) (split r ps)) (pieces i p)
  | _, _ => [r]
  end.
Lemma pieces_ok z i p : within_z z i -> exists j, In j (pieces i p) /\ within_z z j.
Proof.
  intros [L U]. unfold pieces. set (hi := (fst p + Z.of_nat (snd p))%Z).
  destruct (Z.lt_ge_cases z (fst p)) as [A|A].
  - exists (None, Some (fst p - 1)%Z). split; [|split; cbn; auto; lia]. apply in_or_app. left.
    destruct (fst i) as [l|]; [|now left]. replace (l <? fst p)%Z with true; [now left|].
    symmetry. apply Z.ltb_lt. lia.
  - destruct (Z.lt_ge_cases hi z) as [B|B].
    + exists (Some (hi + 1)%Z, None). split; [|split; cbn; auto; lia]. apply in_or_app. right.
      apply in_or_app. left. destruct (snd i) as [u|]; [|now left]. replace (hi <? u)%Z with true; [now left|].
      symmetry. apply Z.ltb_lt. lia.
    + exists (Some z, Some z). split; [|split; cbn; lia]. apply in_or_app. right. apply in_or_app. right.
      apply in_map_iff. exists z. split; auto. apply filter_In. split.
      * apply in_map_iff. exists (Z.to_nat (z - fst p)). split; [lia|]. apply in_seq. unfold hi in B. lia.
      * apply andb_true_iff. split; [destruct (fst i)|destruct (snd i)]; auto; now apply Z.leb_le.
Qed.
Lemma split_ok n r : zreg n r -> forall ps, exists s, In s (split r ps) /\ zreg n s.
Proof.
  induction 1 as [|z i n r Z I IH]; intros [|p ps]; cbn [split]; try (eexists; split; [left; reflexivity|constructor; auto]; fail).
  destruct (pieces_ok p Z) as (j & Ij & Zj). destruct (IH ps) as (s & Is & Ns).
  exists (j :: s). split; [|constructor; auto]. apply in_flat_map. exists j. split; auto. now apply in_map.
Qed.

(* values in their agreed form; counters that have one value are replaced by it *)
Definition equal_on (r : region) (f g : form) : bool :=
  let d := form_add f (form_scale (-1) g) in at_most d r 0 && at_most (form_scale (-1) d) r 0.
Definition shaped (r : region) (s : option form) (f : form) : form :=
  match s with Some g => if equal_on r f g then g else f | None => f end.
Fixpoint shaped_all {A B} (sh : option A -> B -> B) (ss : list (option A)) (fs : list B) : list B :=
  match fs, ss with
  | f :: fs, s :: ss => sh s f :: shaped_all sh ss fs
  | _, _ => fs
  end.
Fixpoint shape_states (r : region) (ss : list (list (option form))) (fs : states form) : states form :=
  match fs, ss with
  | f :: fs, s :: ss => shaped_all (shaped r) s f :: shape_states r ss fs
  | _, _ => fs
  end.
Lemma equal_on_ok r f g n : equal_on r f g = true -> inreg n r -> eval g n == eval f n.
Proof.
  unfold equal_on. rewrite andb_true_iff. intros [A B] I.
  pose proof (at_most_ok _ _ A I) as A'. pose proof (at_most_ok _ _ B I) as B'.
  rewrite form_scale_ok in B'. rewrite form_add_ok, form_scale_ok in A', B'. lra.
Qed.
Lemma shape_ok r n : inreg n r -> forall fs hs ss, Forall2 (Forall2 (means n)) fs hs ->
  Forall2 (Forall2 (means n)) (shape_states r ss fs) hs.
Proof.
  intros I fs hs ss L. revert ss. induction L as [|f h fs hs F ? IH]; intros [|s ss]; cbn; constructor; auto.
  clear -F I. revert s. induction F as [|x y l m E ? IH]; intros [|s ss]; cbn; constructor; auto.
  unfold shaped. destruct s as [g|]; auto. destruct (equal_on r x g) eqn:Q; auto.
  unfold means in *. now rewrite (equal_on_ok _ _ Q I).
Qed.
(* lists of coefficients have no zeros at their end, so that a constant is known by an empty list *)
Definition push (c : Q) (m : list Q) : list Q := match c, m with Qmake 0 _, [] => [] | _, _ => c :: m end.
Definition trim (cs : list Q) : list Q := fold_right push [] cs.
Lemma push_ok c m n : linear (push c m) n == linear (c :: m) n.
Proof.
  unfold push. destruct c as [[|a|a] d], m; try reflexivity. destruct n as [|z n]; [reflexivity|]. cbn.
  setoid_replace (0 # d) with 0 by reflexivity. destruct n; cbn; ring.
Qed.
Fixpoint pin_list (cs : list Q) (r : region) : Q * list Q :=
  match cs, r with
  | c :: cs, i :: r =>
      let p := pin_list cs r in
      match i with
      | (Some l, Some u) =>
          if Z.eqb l u then (fadd (fmul c (inject_Z l)) (fst p), push 0 (snd p)) else (fst p, push c (snd p))
      | _ => (fst p, push c (snd p))
      end
  | _, _ => (0, cs)
  end.
Definition pin (r : region) (f : form) : form :=
  match snd f with [] => f | cs => let p := pin_list cs r in (fadd (fst f) (fst p), snd p) end.
Lemma pin_list_ok n r : inreg n r -> forall cs, fst (pin_list cs r) + linear (snd (pin_list cs r)) n == linear cs n.
Proof.
  induction 1 as [|z i n r [L U] ? IH]; intros [|c cs]; cbn [pin_list linear fst snd]; try (cbn; ring).
  specialize (IH cs). destruct i as [[l|] [u|]]; cbn [fst snd] in *; try (rewrite push_ok; cbn [linear]; rewrite <- IH; ring).
  destruct (Z.eqb_spec l u); cbn [fst snd]; rewrite push_ok; cbn [linear]; rewrite <- IH; [|ring].
  assert (E : z == inject_Z l) by (subst u; apply Qle_antisym; auto). rewrite fadd_ok, fmul_ok, E. ring.
Qed.
Lemma pin_ok r f n : inreg n r -> eval (pin r f) n == eval f n.
Proof.
  intros I. unfold pin. destruct f as [c [|e l]]; cbn [snd fst]; [reflexivity|].
  unfold eval. cbn [fst snd]. rewrite fadd_ok, <- (pin_list_ok I (e :: l)). ring.
Qed.

(* ---- the cover ---- *)
Definition ccell := (states form * known K * region)%type.
Definition cholds (c : ccell) (hs : states Q) (q : conf M) : Prop :=
  exists n, zreg n (snd c) /\ length n = length start_at /\ Forall2 (Forall2 (means (whole n))) (fst (fst c)) hs /\
  tells K n (snd (fst c)) q.
Definition settle (r : region) (fs : states form) : states form := map (map (pin r)) fs.
Definition point_region : region := map (fun z => (Some z, Some z)) start_at.
Definition corigin : option ccell :=
  fs <- start_states (forms point_region) N ;; Some (settle point_region fs, first_known, point_region).
Definition cimages (c : ccell) (a : letter) : option (list ccell) :=
  let '(fs, k, r) := c in
  old <- known_allowed K r k ;;
  if skips t old a then Some []
  else
    d <- nth_error increments a ;;
    if negb (Nat.eqb (length d) (length start_at)) then None else
    p <- net_step (forms r) N fs a ;;
    k' <- known_next K r k a ;;
    let r' := shift_region r d in
    let fs' := shape_states r' shapes (map (map (restate d)) (fst p)) in
    traverse (fun s => x <- known_allowed K s k' ;; if rightb t x (snd p) then Some (settle s fs', k', s) else None)
      (split r' cuts).
Definition cell_eqb (c d : ccell) : bool :=
  known_eqb K (snd (fst c)) (snd (fst d)) && listb interval_eqb (snd c) (snd d) && listb (listb form_eqb) (fst (fst c)) (fst (fst d)).
Definition cell_hash (c : ccell) : positive :=
  key (fold_left (fun h l => fold_left (fun h f => mix h (fst f)) l h) (fst (fst c)) (known_hash K (snd (fst c)))).

Lemma point_in : zreg start_at point_region.
Proof.
  unfold point_region, zreg. generalize start_at as l. induction l; cbn; constructor; auto. split; cbn; lia.
Qed.
Lemma settle_ok r n fs hs : inreg n r -> Forall2 (Forall2 (means n)) fs hs -> Forall2 (Forall2 (means n)) (settle r fs) hs.
Proof.
  intros I L. induction L as [|f h fs hs F ? IH]; cbn; constructor; auto. clear -F I.
  induction F; cbn; constructor; auto. unfold means in *. now rewrite pin_ok.
Qed.
Lemma restate_all n d fs hs : length n = length d -> Forall2 (Forall2 (means (whole n))) fs hs ->
  Forall2 (Forall2 (means (whole (shift n d)))) (map (map (restate d)) fs) hs.
Proof.
  intros E L. induction L as [|f h fs hs F ? IH]; cbn; constructor; auto. clear -F E.
  induction F; cbn; constructor; auto. unfold means in *. now rewrite restate_ok.
Qed.
Lemma traverse_in {A B} (f : A -> option B) l m x : traverse f l = Some m -> In x l -> exists y, f x = Some y /\ In y m.
Proof.
  revert m. induction l as [|a l IH]; cbn; intros m; [intros _ []|].
  destruct (f a) as [b|] eqn:E; cbn; [|discriminate]. destruct (traverse f l); cbn; [|discriminate].
  intros H; injection H as <-. intros [->|I]; [exists b; split; auto; now left|].
  destruct (IH _ eq_refl I) as (y & ? & ?). exists y; split; auto; now right.
Qed.

Definition counters : cover rational t N M.
Proof.
  refine (@Cover Q rational t N M ccell cholds corigin cimages _ _ cell_eqb _ cell_hash).
  - intros c. unfold corigin. destruct (start_states (forms point_region) N) as [fs|] eqn:E; cbn [bind]; [|discriminate].
    intros F; injection F as <-. destruct (start_related (forms_ok (zreg_in point_in)) N E) as (hs & E' & L).
    exists hs. split; auto. exists start_at. split; [apply point_in|]. split; auto. split; auto. cbn.
    apply settle_ok; [apply zreg_in, point_in|]. exact L.
  - intros [[fs k] r] hs q a cs (n & I & Ln & Fs & Tk) Sk. cbn in I, Fs, Tk. unfold cimages.
    destruct (known_allowed K r k) as [old|] eqn:Ko; cbn [bind]; [|discriminate].
    assert (Ao : allowed M q = old) by eauto. rewrite <- Ao, Sk.
    destruct (nth_error increments a) as [d|] eqn:Ed; cbn [bind]; [|discriminate].
    destruct (Nat.eqb_spec (length d) (length start_at)) as [Ld|]; cbn [negb]; [|discriminate].
    destruct (net_step (forms r) N fs a) as [[fs1 x]|] eqn:Es; cbn [bind fst snd]; [|discriminate].
    destruct (known_next K r k a) as [k'|] eqn:Kn; cbn [bind]; [|discriminate]. intros Tr.
    destruct (step_related (forms_ok (zreg_in I)) N a Fs Es) as ([hs' y] & -> & Hs & Hx). cbn in Hs, Hx. subst y.
    assert (Tk' : tells K (shift n d) k' (next M q a)) by eauto. pose proof (shift_in I d) as I'.
    destruct (split_ok I' cuts) as (s & Is & Ns). destruct (traverse_in _ _ _ Tr Is) as (c' & Ec & Ic).
    destruct (known_allowed K s k') as [z|] eqn:Kz; cbn [bind] in Ec; [|discriminate].
    destruct (rightb t z x) eqn:Rz; [|discriminate]. injection Ec as <-.
    exists hs', x. split; auto. split.
    + replace (allowed M (next M q a)) with z by (symmetry; eauto). now apply rightb_ok.
    + eexists; split; [exact Ic|]. exists (shift n d). cbn. split; auto. split.
      * unfold shift. rewrite map_length, combine_length. lia.
      * split; auto. apply settle_ok; [now apply zreg_in|]. apply shape_ok; [now apply zreg_in|]. apply restate_all; auto. congruence.
  - intros [[fs k] r] [[fs' k'] r']. unfold cell_eqb; cbn. rewrite !andb_true_iff. intros [[A B] C].
    apply known_eqb_ok in A. apply listb_ok in B; [|apply interval_eqb_ok].
    apply listb_ok in C; [now subst|]. apply listb_ok, form_eqb_ok.
Defined.
End CounterInvariant.
