(* Integer exactness: sums that no rounding can touch, in any order and grouping, with or without fused products.

   All terms of a sum are multiples of one 2^-g, and neither the positive nor the negative ones add up to more than
   2^(bits - g).  Then every partial sum in every order is such a multiple of at most that size, and the format holds
   it.  The check is the joint closure in the arithmetic `metered`, which is exact and undefined elsewhere. *)
From Coq Require Import QArith Qabs Qreduction ZArith List Bool Arith Lia Lqa Setoid Morphisms Permutation.
From Nerode Require Import Network Related Cover JointClosure Automata Rounding.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

Fixpoint total (l : list Q) : Q := match l with [] => 0 | x :: l => x + total l end.
Definition positive_part (x : Q) : Q := if Qle_bool x 0 then 0 else x.
Fixpoint ups (l : list Q) : Q := match l with [] => 0 | x :: l => positive_part x + ups l end.
Fixpoint downs (l : list Q) : Q := match l with [] => 0 | x :: l => positive_part (- x) + downs l end.

Lemma part_pos x : 0 <= positive_part x.
Proof.
  unfold positive_part. destruct (Qle_bool x 0) eqn:E; [apply Qle_refl|].
  destruct (Qlt_le_dec 0 x); [lra|]. apply Qle_bool_iff in q. congruence.
Qed.
Lemma part_above x : x <= positive_part x.
Proof. unfold positive_part. destruct (Qle_bool x 0) eqn:E; [now apply Qle_bool_iff|apply Qle_refl]. Qed.
Lemma part_proper x y : x == y -> positive_part x == positive_part y.
Proof. intros E. unfold positive_part. rewrite (Qle_bool_proper _ E). destruct (Qle_bool y 0); [reflexivity|auto]. Qed.
Lemma total_app l m : total (l ++ m) == total l + total m.
Proof. induction l; cbn [total app]; [ring|]. rewrite IHl. ring. Qed.
Lemma ups_app l m : ups (l ++ m) == ups l + ups m.
Proof. induction l; cbn [ups app]; [ring|]. rewrite IHl. ring. Qed.
Lemma downs_app l m : downs (l ++ m) == downs l + downs m.
Proof. induction l; cbn [downs app]; [ring|]. rewrite IHl. ring. Qed.
Lemma ups_pos l : 0 <= ups l.
Proof. induction l; cbn [ups]; [lra|]. pose proof (part_pos a). lra. Qed.
Lemma downs_pos l : 0 <= downs l.
Proof. induction l; cbn [downs]; [lra|]. pose proof (part_pos (- a)). lra. Qed.
Lemma total_between l : - downs l <= total l /\ total l <= ups l.
Proof.
  induction l; cbn [downs total ups]; [lra|]. pose proof (part_above a). pose proof (part_above (- a)).
  pose proof (part_pos a). pose proof (part_pos (- a)). lra.
Qed.
Lemma total_perm l m : Permutation l m -> total l == total m.
Proof. induction 1; cbn [total]; lra. Qed.
Lemma ups_perm l m : Permutation l m -> ups l == ups m.
Proof. induction 1; cbn [ups]; lra. Qed.
Lemma downs_perm l m : Permutation l m -> downs l == downs m.
Proof. induction 1; cbn [downs]; lra. Qed.

Lemma power_pos g : (0 < 2 ^ Z.of_nat g)%Z.
Proof. apply Z.pow_pos_nonneg; lia. Qed.
Lemma unit_pos g : 0 < unit_of g.
Proof. unfold unit_of. apply Qinv_lt_0_compat. change 0 with (inject_Z 0). rewrite <- Zlt_Qlt. apply power_pos. Qed.
Lemma unit_split g k : unit_of k == inject_Z (2 ^ Z.of_nat g) * unit_of (k + g).
Proof.
  unfold unit_of. rewrite Nat2Z.inj_add, Z.pow_add_r, inject_Z_mult by lia.
  assert (K : forall n, ~ inject_Z (2 ^ Z.of_nat n) == 0).
  { intros n E0. assert (E : (2 ^ Z.of_nat n)%Z = 0%Z) by (apply inject_Z_injective; exact E0). pose proof (power_pos n) as P. rewrite E in P. exact (Z.lt_irrefl _ P). }
  pose proof (K g). pose proof (K k). field. auto.
Qed.

Section Format.
Variable f : format.
Definition capacity (g : nat) : Q := inject_Z (2 ^ Z.of_nat (bits f)) * unit_of g.
Definition on_grid (g : nat) (x : Q) : Prop := exists m : Z, x == inject_Z m * unit_of g.

Lemma total_grid g l : Forall (on_grid g) l -> on_grid g (total l).
Proof.
  induction 1 as [|x l [m E] ? [n F]]; cbn [total]; [exists 0%Z; ring|].
  exists (m + n)%Z. rewrite E, F, inject_Z_plus. ring.
Qed.
Lemma small_fits g x : (g <= finest f)%nat -> on_grid g x -> - capacity g <= x -> x <= capacity g -> fits f x.
Proof.
  intros G [m E] L U. exists m, g. split; auto. split; auto. rewrite E in L, U. unfold capacity in *.
  pose proof (unit_pos g) as P.
  assert (U' : inject_Z m <= inject_Z (2 ^ Z.of_nat (bits f))) by (eapply Qmult_lt_0_le_reg_r; eauto).
  assert (L' : inject_Z (- 2 ^ Z.of_nat (bits f)) <= inject_Z m).
  { eapply Qmult_lt_0_le_reg_r; [exact P|]. rewrite inject_Z_opp. lra. }
  rewrite <- Zle_Qle in U', L'. lia.
Qed.

Variable rnd : Q -> Q.
Hypothesis rnd_proper : forall x y, x == y -> rnd x == rnd y.
Hypothesis rnd_exact : forall x, fits f x -> rnd x == x.

Theorem any_order g t : (g <= finest f)%nat -> Forall (on_grid g) (products t) ->
  ups (products t) <= capacity g -> downs (products t) <= capacity g -> rounded rnd t == total (products t).
Proof.
  intros Gf. assert (K : forall l y, y == total l -> Forall (on_grid g) l -> ups l <= capacity g -> downs l <= capacity g ->
    rnd y == total l).
  { intros l y E G U D. rewrite (rnd_proper E). pose proof (total_between l) as [A B].
    apply rnd_exact, small_fits with g; auto using total_grid; lra. }
  induction t as [c v|l IHl r IHr|c v r IHr]; cbn [products rounded]; intros G U D.
  - apply K; auto. cbn [total]. ring.
  - rewrite ups_app in U. rewrite downs_app in D. pose proof G as G'. apply Forall_app in G'. destruct G' as [Gl Gr].
    pose proof (ups_pos (products l)). pose proof (ups_pos (products r)).
    pose proof (downs_pos (products l)). pose proof (downs_pos (products r)).
    apply K; [|auto|rewrite ups_app; auto|rewrite downs_app; auto].
    rewrite total_app, IHl, IHr; auto; try lra; reflexivity.
  - inversion G; subst. pose proof (part_pos (c * v)). pose proof (part_pos (- (c * v))). cbn [ups downs] in U, D.
    apply K; auto. cbn [total]. rewrite IHr; auto; try lra; reflexivity.
Qed.

(* The exponent of a power of two. *)
Fixpoint log2_of (d : positive) : option nat :=
  match d with xH => Some O | xO d => k <- log2_of d ;; Some (S k) | xI _ => None end.
Lemma log2_of_ok d : forall k, log2_of d = Some k -> Zpos d = (2 ^ Z.of_nat k)%Z.
Proof.
  induction d as [d _|d IH|]; cbn [log2_of]; intros k; try discriminate.
  - destruct (log2_of d) as [j|]; cbn [bind]; [|discriminate]. intros E; injection E as <-.
    rewrite Pos2Z.inj_xO, (IH j eq_refl), Nat2Z.inj_succ, Z.pow_succ_r; lia.
  - intros E; injection E as <-. reflexivity.
Qed.
Definition grid_of (x : Q) : option nat := log2_of (Qden x).
Lemma grid_of_ok x k : grid_of x = Some k -> on_grid k x.
Proof.
  unfold grid_of. intros E. apply log2_of_ok in E. exists (Qnum x).
  destruct x as [a d]; cbn [Qnum Qden] in *. unfold unit_of. rewrite <- E. unfold Qeq, Qmult, Qinv, inject_Z; cbn. lia.
Qed.
Lemma grid_up k g x : (k <= g)%nat -> on_grid k x -> on_grid g x.
Proof.
  intros L [m E]. exists (m * 2 ^ Z.of_nat (g - k))%Z. rewrite E, (unit_split (g - k) k), inject_Z_mult.
  replace (k + (g - k))%nat with g by lia. ring.
Qed.
Fixpoint common_grid (l : list Q) : option nat :=
  match l with [] => Some O | x :: l => k <- grid_of x ;; g <- common_grid l ;; Some (Nat.max k g) end.
Lemma common_grid_ok l : forall g, common_grid l = Some g -> Forall (on_grid g) l.
Proof.
  induction l as [|x l IH]; cbn; intros g; [constructor|]. destruct (grid_of x) as [k|] eqn:E; cbn; [|discriminate].
  destruct (common_grid l) as [h|]; cbn; [|discriminate]. intros F; injection F as <-. constructor.
  - apply grid_up with k; [lia|]. now apply grid_of_ok.
  - eapply Forall_impl; [|exact (IH h eq_refl)]. intros; apply grid_up with h; auto; lia.
Qed.
(* positive and negative terms, added up quickly *)
Fixpoint parts (l : list Q) (up down : Q) : Q * Q :=
  match l with
  | [] => (up, down)
  | x :: l =>
      match Qnum x with
      | Z0 => parts l up down
      | Zpos _ => parts l (fadd x up) down
      | Zneg _ => parts l up (fadd (- x) down)
      end
  end.
Lemma part_of_pos a d : positive_part (Zpos a # d) == Zpos a # d /\ positive_part (- (Zpos a # d)) == 0.
Proof.
  split; unfold positive_part; [replace (Qle_bool _ 0) with false; [reflexivity|symmetry]|replace (Qle_bool _ 0) with true; [reflexivity|symmetry]].
  - apply not_true_is_false. rewrite Qle_bool_iff. unfold Qle; cbn. lia.
  - apply Qle_bool_iff. unfold Qle; cbn. lia.
Qed.
Lemma parts_ok l : forall u d, fst (parts l u d) == u + ups l /\ snd (parts l u d) == d + downs l.
Proof.
  induction l as [|[n e] l IH]; cbn [parts ups downs]; intros u d; [cbn; split; ring|].
  destruct n as [|a|a]; cbn [Qnum].
  - destruct (IH u d) as [A B]. rewrite A, B. assert (P0 : positive_part (0 # e) == 0) by reflexivity.
    assert (P1 : positive_part (- (0 # e)) == 0) by reflexivity. rewrite P0, P1. split; ring.
  - destruct (IH (fadd (Zpos a # e) u) d) as [A B]. rewrite A, B. destruct (part_of_pos a e) as [P0 P1].
    rewrite P0, P1, fadd_ok. split; ring.
  - destruct (IH u (fadd (- (Zneg a # e)) d)) as [A B]. rewrite A, B. destruct (part_of_pos a e) as [P0 P1].
    change (- (Zneg a # e)) with (Zpos a # e). change (Zneg a # e) with (- (Zpos a # e)). rewrite P0, P1, fadd_ok. split; ring.
Qed.
Definition limit (c : Z) (g : nat) : Q := match g with O => c # 1 | _ => inject_Z c * unit_of g end.
Definition cap : Z := (2 ^ Z.of_nat (bits f))%Z.
Lemma limit_ok g : limit cap g == capacity g.
Proof. unfold capacity, cap. destruct g; cbn [limit]; [unfold unit_of; cbn; unfold inject_Z; field|reflexivity]. Qed.
Definition safe_with (c : Z) (l : list Q) : bool :=
  match common_grid l with
  | Some g => (g <=? finest f) && let p := parts l 0 0 in Qle_bool (fst p) (limit c g) && Qle_bool (snd p) (limit c g)
  | None => false
  end.
Definition safe := safe_with cap.
Definition fits_with (c : Z) (x : Q) : bool := Pos.eqb (Qden x) 1 && Z.leb (Z.abs (Qnum x)) c || safe_with c [x].
Definition fits_b := fits_with cap.
Lemma safe_parts l : safe l = true -> exists g, (g <= finest f)%nat /\ Forall (on_grid g) l /\ ups l <= capacity g /\ downs l <= capacity g.
Proof.
  unfold safe, safe_with. destruct (common_grid l) as [g|] eqn:E; [|discriminate].
  cbn [andb]. rewrite !andb_true_iff, !Qle_bool_iff, Nat.leb_le. destruct (parts_ok l 0 0) as [U D].
  rewrite U, D, limit_ok. intros (G & A & B). exists g. repeat split; auto using common_grid_ok; lra.
Qed.
Lemma safe_total l : safe l = true -> fits f (total l).
Proof.
  intros S. destruct (safe_parts _ S) as (g & ? & ? & ? & ?). pose proof (total_between l) as [A B].
  apply small_fits with g; auto using total_grid; lra.
Qed.
Lemma fits_proper x y : x == y -> fits f x -> fits f y.
Proof. intros E (m & g & ? & F & ?). exists m, g. repeat split; auto. now rewrite <- E. Qed.
Lemma fits_b_ok x : fits_b x = true -> fits f x.
Proof.
  unfold fits_b, fits_with. rewrite orb_true_iff, andb_true_iff, Pos.eqb_eq, Z.leb_le. intros [[E L]|S].
  - exists (Qnum x), 0%nat. split; [lia|]. split; auto. destruct x as [n d]; cbn in *. subst d. unfold unit_of; cbn.
    unfold inject_Z. field.
  - apply fits_proper with (total [x]); [cbn [total]; ring|]. now apply safe_total.
Qed.

(* Exact arithmetic that is defined only where no rounding can happen. *)
Definition metered : arithmetic Q :=
  let c := cap in
  Arithmetic (fun q => if fits_with c q then const fast q else None)
    (fun b l => if fits_with c b && forallb (fun x => fits_with c (fst x)) l &&
                   safe_with c (fmul b 1 :: map (fun x => fmul (fst x) (snd x)) l)
                then sum fast b l else None)
    (fun g h w => if safe_with c [fmul g h; fmul w 1] then gated fast g h w else None)
    (relu fast) (above fast) (greater fast) (entry fast).

Lemma grid_proper g x y : x == y -> on_grid g x -> on_grid g y.
Proof. intros E [m F]. exists m. now rewrite <- E. Qed.
Lemma safe_tree l m y : safe l = true -> Forall2 Qeq l m -> by_tree rnd m y -> y == total l.
Proof.
  intros S E (t & k & P & ->). destruct (safe_parts _ S) as (g & Gf & G & U & D).
  assert (Gm : Forall (on_grid g) m).
  { clear -E G. induction E; constructor; inversion G; subst; auto. eapply grid_proper; eassumption. }
  assert (Tm : total m == total l) by (clear -E; induction E; cbn [total]; [reflexivity|now rewrite H, IHE]).
  assert (Um : ups m == ups l).
  { clear -E. induction E; cbn [ups]; [reflexivity|]. rewrite IHE, (part_proper H). reflexivity. }
  assert (Dm : downs m == downs l).
  { clear -E. induction E; cbn [downs]; [reflexivity|]. rewrite IHE.
    assert (F : - x == - y) by now rewrite H. rewrite (part_proper F). reflexivity. }
  assert (Zk : total (repeat 0 k) == 0 /\ ups (repeat 0 k) == 0 /\ downs (repeat 0 k) == 0 /\ Forall (on_grid g) (repeat 0 k)).
  { clear P. induction k as [|k (A & B & C & F)]; cbn [repeat total ups downs].
    - repeat split; try reflexivity. constructor.
    - rewrite A, B, C. repeat split; try reflexivity. constructor; auto. exists 0%Z. ring. }
  destruct Zk as (Zt & Zu & Zd & Zg). rewrite (any_order _ Gf).
  - rewrite (total_perm P), total_app, Zt, Tm. ring.
  - eapply Permutation_Forall; [symmetry; exact P|]. apply Forall_app; auto.
  - rewrite (ups_perm P), ups_app, Zu, Um. lra.
  - rewrite (downs_perm P), downs_app, Zd, Dm. lra.
Qed.
Lemma fast_total b l : fold_right (fun p s => fadd (fmul (fst p) (snd p)) s) (Qred b) l ==
  total (b * 1 :: map (fun x => fst x * snd x) l).
Proof.
  cbn [total]. induction l as [|[c v] l IH]; cbn [fold_right map total fst snd]; [rewrite Qred_correct; ring|].
  rewrite fadd_ok, fmul_ok, IH. ring.
Qed.
Lemma metered_ok F : float_like f rnd F -> related metered F Qeq.
Proof.
  intros H. split; cbn [metered const sum gated relu above]; fold safe fits_b.
  - intros c. destruct (fits_b c) eqn:S; [|apply orel_none]. destruct (Fconst H (fits_b_ok _ S)) as (y & -> & E).
    apply orel_some. rewrite E. apply Qred_correct.
  - intros b l m L. destruct (fits_b b && _ && _) eqn:S'; [|apply orel_none].
    rewrite !andb_true_iff, forallb_forall in S'. destruct S' as [[Sb Sl] S].
    destruct (@Fsum _ _ _ H b m) as (y & -> & T); [now apply fits_b_ok| |].
    { clear -L Sl. induction L as [|x y l m [E _] ? IH]; constructor; [|apply IH; intros; apply Sl; now right].
      rewrite <- E. apply fits_b_ok, Sl. now left. }
    apply orel_some. cbn [fast sum]. rewrite fast_total.
    assert (Y : y == total (fmul b 1 :: map (fun x => fmul (fst x) (snd x)) l)).
    { eapply safe_tree; eauto. constructor; [now rewrite fmul_ok|]. clear -L.
      induction L as [|[c v] [d w] ? ? [E F] ? ?]; cbn in *; constructor; auto. now rewrite fmul_ok, E, F. }
    rewrite Y. clear. cbn [total]. rewrite fmul_ok. induction l as [|[c v] l IH]; cbn [map total fst snd]; [reflexivity|].
    rewrite fmul_ok. lra.
  - intros g g' h h' x x' Eg Eh Ex. destruct (safe _) eqn:S; [|apply orel_none].
    destruct (Fgated H g' h' x') as (y & -> & T). apply orel_some. rewrite fadd_ok, fmul_ok.
    assert (Y : y == total [fmul g h; fmul x 1]).
    { apply (@safe_tree _ [g' * h'; x' * 1] _ S); auto. constructor; [now rewrite fmul_ok, Eg, Eh|].
      constructor; [now rewrite fmul_ok, Ex|constructor]. }
    rewrite Y. cbn [total]. rewrite !fmul_ok. ring.
  - intros v w E. rewrite (Frelu H). apply orel_some. rewrite (Qle_bool_proper _ E).
    destruct (Qle_bool w 0); [reflexivity|assumption].
  - intros v w c E. rewrite (Fabove H). apply orel_some. now rewrite (Qle_bool_proper _ E).
  - intros v w v' w' E E'. rewrite (Fgreater H). apply orel_some. now rewrite (Qle_bool_equal E E').
  - intros l m L i. rewrite (Fentry H). now apply quick_rel.
Qed.
End Format.

(* Not vacuous: for every rounding, a machine that adds from the right with fused products is float-like. *)
Section Example.
Variables (f : format) (rnd : Q -> Q).
Hypothesis rnd_exact : forall x, fits f x -> rnd x == x.
Definition chain (b : Q) (l : list (Q * Q)) : tree := fold_right (fun x t => Fused (fst x) (snd x) t) (Leaf b 1) l.
Definition a_machine : arithmetic Q :=
  Arithmetic (fun c => Some (rnd c)) (fun b l => Some (rounded rnd (chain b l)))
    (fun g h w => Some (rounded rnd (Fused g h (Leaf w 1)))) (relu rational) (above rational)
    (greater rational) (entry rational).
Lemma a_machine_ok : float_like f rnd a_machine.
Proof.
  split; cbn [a_machine const sum gated relu above rational]; auto.
  - intros c K. exists (rnd c). auto.
  - intros b l _ _. eexists; split; [reflexivity|]. exists (chain b l), 0%nat. split; auto.
    rewrite app_nil_r. assert (E : products (chain b l) = map (fun x => fst x * snd x) l ++ [b * 1]).
    { induction l; cbn [chain fold_right products map app]; auto. now f_equal. }
    rewrite E. symmetry. apply Permutation_cons_append.
  - intros g h w. eexists; split; [reflexivity|]. exists (Fused g h (Leaf w 1)), 0%nat. split; auto.
Qed.
End Example.

Section Check.
Variables (f : format) (t : task) (N : network) (M : machine) (conf_eqb : conf M -> conf M -> bool) (conf_hash : conf M -> Z).
Hypothesis conf_eqb_ok : forall x y, conf_eqb x y = true -> x = y.
(* The check depends on no rounding and no machine: it is run once, in a cover of the metered arithmetic itself. *)
Definition check_float (most : nat) : bool :=
  check (@joint Q Q (metered f) (metered f) eq (self_related _) qeqb mix qeqb_ok t N M conf_eqb conf_hash conf_eqb_ok) most.
Theorem check_float_sound most : check_float most = true -> exact_in f (fun F => correct_in F t N M).
Proof.
  intros K rnd F P E H.
  apply (@check_sound _ _ _ _ _ (@joint Q Q (metered f) F Qeq (metered_ok P E H) qeqb mix qeqb_ok t N M
    conf_eqb conf_hash conf_eqb_ok) most). exact K.
Qed.
End Check.

(* Heads of attention are softmaxes, not sums of products: nothing is claimed of them in floats. *)
Definition no_heads (N : network) : bool :=
  forallb (fun l => match recurrence l with Attention _ _ _ => false | _ => true end) (layers N).
Definition check_dfa_float (f : format) (t : task) (N : network) (D : dfa) (most : nat) : bool :=
  no_heads N && (num_letters N =? letters D) && checked_automaton D &&
  @check_float f t N (automaton D) N.eqb state_hash state_eqb_ok most.
Theorem check_dfa_float_sound f t N D most :
  check_dfa_float f t N D most = true -> exact_in f (fun F => automaton_claim F t N D).
Proof.
  unfold check_dfa_float. rewrite !andb_true_iff, Nat.eqb_eq. intros [[[_ E] W] K] rnd F P X H.
  apply automaton_claim_ok; auto. eapply check_float_sound; eassumption.
Qed.
Definition check_brackets_float (f : format) (t : task) (N : network) (kinds : nat) (depth : option nat) (most : nat) : bool :=
  no_heads N && (num_letters N =? 2 * kinds) && @check_float f t N (brackets kinds depth) conf_eqb conf_hash conf_eqb_ok most.
Theorem check_brackets_float_sound f t N k d most :
  check_brackets_float f t N k d most = true -> exact_in f (fun F => correct_in F t N (brackets k d)).
Proof. unfold check_brackets_float. rewrite !andb_true_iff. intros [_ K]. eapply check_float_sound, K. Qed.
