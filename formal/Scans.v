(* Parallel scans: the groupings of a scan change nothing where gates are -1, 0 or 1 and four times every state fits.

   A group of steps acts as h -> a * h + b.  Both ends of the group are states of the run, so b is at most twice the
   largest state, and joining two groups adds two such numbers.  The check is the joint closure in the arithmetic
   `scan_metered`, whose gated step is defined only there. *)
From Coq Require Import QArith Qabs Qreduction ZArith List Bool Arith Lia Lqa Permutation.
From Nerode Require Import Network Related Cover JointClosure Automata Rounding Floats.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

(* ---- the algebra of steps ---- *)
Definition product_of (l : list (Q * Q)) : Q := fold_left (fun a p => fst p * a) l 1.
Definition value_from (h : Q) (l : list (Q * Q)) : Q := fold_left (fun h p => fst p * h + snd p) l h.
Definition value_of (l : list (Q * Q)) : Q := value_from 0 l.

Lemma product_from l : forall a, fold_left (fun a p => fst p * a) l a == product_of l * a.
Proof.
  unfold product_of. induction l as [|p l IH]; cbn; intros a; [ring|]. rewrite (IH (fst p * a)), (IH (fst p * 1)). ring.
Qed.
Lemma value_from_ok l : forall h, value_from h l == product_of l * h + value_of l.
Proof.
  unfold value_of, value_from, product_of. induction l as [|p l IH]; cbn; intros h; [ring|].
  rewrite (IH (fst p * h + snd p)), (IH (fst p * 0 + snd p)), (product_from l (fst p * 1)).
  unfold product_of. ring.
Qed.
Lemma product_app l m : product_of (l ++ m) == product_of m * product_of l.
Proof. unfold product_of at 1. rewrite fold_left_app. apply product_from. Qed.
Lemma value_app l m : value_of (l ++ m) == product_of m * value_of l + value_of m.
Proof. unfold value_of at 1, value_from. rewrite fold_left_app. apply value_from_ok. Qed.

Section Scan.
Variables (f : format) (k : nat) (rnd : Q -> Q).
Hypothesis k_fine : (k <= finest f)%nat.
Hypothesis rnd_proper : forall x y, x == y -> rnd x == rnd y.
Hypothesis rnd_exact : forall x, fits f x -> rnd x == x.

Definition is_unit (a : Q) : Prop := a == 0 \/ a == 1 \/ a == -1.
Definition small (x : Q) : Prop := on_grid k x /\ -(capacity f k) <= 4 * x /\ 4 * x <= capacity f k.
Definition step_ok (p : Q * Q) : Prop := is_unit (fst p) /\ on_grid k (snd p).
Definition bounded (l : list (Q * Q)) : Prop := Forall step_ok l /\ forall p s, l = p ++ s -> small (value_of p).

Lemma unit_product l : Forall step_ok l -> is_unit (product_of l).
Proof.
  unfold product_of. assert (U : is_unit 1) by (right; left; reflexivity). revert U. generalize 1 as a.
  intros a U F. revert a U. induction F as [|p l [[E|[E|E]] _] ? IH]; cbn; intros a U; auto; apply IH;
    destruct U as [U|[U|U]]; unfold is_unit; rewrite E, U; [left|left|left|left|right; left|right; right|left|right; right|right; left]; ring.
Qed.
Lemma grid_value l : Forall step_ok l -> on_grid k (value_of l).
Proof.
  unfold value_of, value_from. assert (G : on_grid k 0) by (exists 0%Z; ring). revert G. generalize 0 as h.
  intros h G F. revert h G. induction F as [|p l [U W] ? IH]; cbn; intros h G; auto. apply IH.
  destruct G as [m E], W as [n H']. destruct U as [U|[U|U]].
  - exists n. rewrite U, H'. ring.
  - exists (m + n)%Z. rewrite U, E, H', inject_Z_plus. ring.
  - exists (n - m)%Z. rewrite U, E, H'. unfold Z.sub. rewrite inject_Z_plus, inject_Z_opp. ring.
Qed.
Lemma capacity_pos : 0 <= capacity f k.
Proof.
  unfold capacity. apply Qmult_le_0_compat; [|apply Qlt_le_weak, unit_pos]. change 0 with (inject_Z 0).
  rewrite <- Zle_Qle. pose proof (power_pos (bits f)). lia.
Qed.
(* the write of a group inside a bounded run *)
Lemma group_small p l s : bounded (p ++ l ++ s) -> on_grid k (value_of l) /\ -(capacity f k) <= 2 * value_of l /\ 2 * value_of l <= capacity f k.
Proof.
  intros [F S]. pose proof F as F'. apply Forall_app in F'. destruct F' as [_ F']. apply Forall_app in F'. destruct F' as [Fl _].
  destruct (S p (l ++ s)) as (_ & L1 & U1); [reflexivity|]. destruct (S (p ++ l) s) as (_ & L2 & U2); [now rewrite app_assoc|].
  rewrite value_app in L2, U2. split; [now apply grid_value|].
  destruct (unit_product Fl) as [E|[E|E]]; rewrite E in L2, U2; lra.
Qed.
Lemma small_tree m y : Forall (on_grid k) m -> ups m <= capacity f k -> downs m <= capacity f k -> by_tree rnd m y -> y == total m.
Proof.
  intros G U D (t & z & P & ->).
  assert (Zk : total (repeat 0 z) == 0 /\ ups (repeat 0 z) == 0 /\ downs (repeat 0 z) == 0 /\ Forall (on_grid k) (repeat 0 z)).
  { clear P. induction z as [|z (A & B & C & F)]; cbn [repeat total ups downs].
    - repeat split; try reflexivity. constructor.
    - rewrite A, B, C. repeat split; try reflexivity. constructor; auto. exists 0%Z. ring. }
  destruct Zk as (Zt & Zu & Zd & Zg). rewrite (@any_order f rnd rnd_proper rnd_exact k t k_fine).
  - rewrite (total_perm P), total_app, Zt. ring.
  - eapply Permutation_Forall; [symmetry; exact P|]. apply Forall_app; auto.
  - rewrite (ups_perm P), ups_app, Zu. lra.
  - rewrite (downs_perm P), downs_app, Zd. lra.
Qed.
Lemma part_bound x c : - c <= x -> x <= c -> 0 <= c -> positive_part x <= c /\ positive_part (- x) <= c.
Proof.
  intros L U C. unfold positive_part. destruct (Qle_bool x 0), (Qle_bool (- x) 0); split; lra.
Qed.

Theorem any_grouping l a b : scanned rnd l a b -> forall p s, bounded (p ++ l ++ s) -> a == product_of l /\ b == value_of l.
Proof.
  induction 1 as [a b|l m a1 b1 a2 b2 b Hl IHl Hm IHm T]; intros p s K.
  - unfold product_of, value_of, value_from; cbn. split; ring.
  - rewrite <- app_assoc in K. destruct (IHl p (m ++ s) K) as [A1 B1]. pose proof K as K'.
    rewrite app_assoc in K'. destruct (IHm (p ++ l) s K') as [A2 B2].
    destruct (group_small _ _ _ K) as (G1 & L1 & U1). destruct (group_small _ _ _ K') as (G2 & L2 & U2).
    assert (Fl : Forall step_ok l /\ Forall step_ok m).
    { destruct K as [F _]. apply Forall_app in F. destruct F as [_ F]. apply Forall_app in F. destruct F as [F1 F2].
      apply Forall_app in F2. destruct F2. auto. }
    destruct Fl as [Fl Fm]. pose proof (unit_product Fl) as P1. pose proof (unit_product Fm) as P2. split.
    + rewrite product_app. rewrite (rnd_proper (y := product_of m * product_of l)) by now rewrite A1, A2.
      apply rnd_exact. assert (X : forall x, is_unit x -> fits f x).
      { intros x X. assert (exists z, x == inject_Z z /\ (Z.abs z <= 1)%Z) as (z & Ez & Lz).
        { destruct X as [X|[X|X]]; [exists 0%Z|exists 1%Z|exists (-1)%Z]; rewrite X; split; try reflexivity; lia. }
        exists z, 0%nat. split; [lia|]. split; [rewrite Ez; unfold unit_of; cbn; unfold inject_Z; field|].
        pose proof (power_pos (bits f)). lia. }
      apply X. assert (Y : is_unit (product_of (l ++ m))) by (apply unit_product, Forall_app; auto).
      unfold is_unit in *. rewrite product_app in Y. exact Y.
    + rewrite value_app. pose proof capacity_pos as C.
      assert (H1 : - (capacity f k / 2) <= a2 * b1 /\ a2 * b1 <= capacity f k / 2).
      { setoid_replace (capacity f k / 2) with (capacity f k * (1 # 2)) by reflexivity. rewrite B1.
        destruct P2 as [P2|[P2|P2]]; rewrite <- A2 in P2; rewrite P2; lra. }
      assert (H2 : - (capacity f k / 2) <= b2 * 1 /\ b2 * 1 <= capacity f k / 2).
      { setoid_replace (capacity f k / 2) with (capacity f k * (1 # 2)) by reflexivity. rewrite B2. lra. }
      assert (C2 : 0 <= capacity f k / 2) by (setoid_replace (capacity f k / 2) with (capacity f k * (1 # 2)) by reflexivity; lra).
      destruct (part_bound (proj1 H1) (proj2 H1) C2) as [U11 D11]. destruct (part_bound (proj1 H2) (proj2 H2) C2) as [U22 D22].
      assert (Half : capacity f k / 2 + (capacity f k / 2 + 0) == capacity f k) by field.
      assert (M : by_tree rnd [a2 * b1; b2 * 1] b -> b == total [a2 * b1; b2 * 1]).
      { apply small_tree.
        - assert (Ga : on_grid k (a2 * b1)).
          { destruct G1 as [z E]. destruct P2 as [P2|[P2|P2]]; rewrite <- A2 in P2.
            - exists 0%Z. rewrite P2. ring.
            - exists z. rewrite P2, B1, E. ring.
            - exists (- z)%Z. rewrite P2, B1, E, inject_Z_opp. ring. }
          constructor; [exact Ga|]. constructor; [|constructor]. apply grid_proper with (value_of m); auto. rewrite B2. ring.
        - cbn [ups]. rewrite <- Half. apply Qplus_le_compat; auto. apply Qplus_le_compat; auto. apply Qle_refl.
        - cbn [downs]. rewrite <- Half. apply Qplus_le_compat; auto. apply Qplus_le_compat; auto. apply Qle_refl. }
      rewrite (M T). cbn [total]. rewrite A2, B1, B2. ring.
Qed.

(* ---- the metered arithmetic ---- *)
Definition on_grid_b (x : Q) : bool := match grid_of x with Some g => (g <=? k)%nat | None => false end.
Definition small_b (c : Z) (x : Q) : bool :=
  on_grid_b x && Qle_bool (4 * x) (limit c k) && Qle_bool (- (4 * x)) (limit c k).
Definition unit_b (a : Q) : bool := Qeq_bool a 0 || Qeq_bool a 1 || Qeq_bool a (-1).
Definition scan_metered : arithmetic Q :=
  let c := cap f in
  Arithmetic (const (metered f)) (sum (metered f))
    (fun g h w => v <- gated (metered f) g h w ;;
       if unit_b g && on_grid_b w && small_b c h && small_b c v then Some v else None)
    (relu (metered f)) (above (metered f)) (greater (metered f)) (entry (metered f)).
Lemma on_grid_b_ok x : on_grid_b x = true -> on_grid k x.
Proof.
  unfold on_grid_b. destruct (grid_of x) as [g|] eqn:E; [|discriminate]. rewrite Nat.leb_le. intros L.
  apply grid_up with g; auto. now apply grid_of_ok.
Qed.
Lemma small_b_ok x : small_b (cap f) x = true -> small x.
Proof.
  unfold small_b. rewrite !andb_true_iff, !Qle_bool_iff, limit_ok. intros [[G U] L].
  split; [now apply on_grid_b_ok|]. lra.
Qed.
Lemma unit_b_ok a : unit_b a = true -> is_unit a.
Proof. unfold unit_b, is_unit. rewrite !orb_true_iff, !Qeq_bool_iff. tauto. Qed.
Lemma scan_metered_ok F : float_like f rnd F -> related scan_metered F Qeq.
Proof.
  intros H. pose proof (metered_ok rnd_proper rnd_exact H) as R. destruct R as [Rc Rs Rg Rr Ra Rt Re].
  split; auto. intros g g' h h' x x' Eg Eh Ex. cbn [scan_metered gated].
  intros v. destruct (gated (metered f) g h x) as [u|] eqn:G; cbn [bind]; [|discriminate].
  destruct (_ && _ && _ && _); [|discriminate]. intros E; injection E as <-. exact (Rg _ _ _ _ _ _ Eg Eh Ex u G).
Qed.

(* ---- one diagonal layer ---- *)
Definition good (l : list (Q * Q)) (h : Q) : Prop := value_of l == h /\ (small h -> bounded l).
Lemma small_proper x y : x == y -> small x -> small y.
Proof. intros E (G & L & U). split; [eapply grid_proper; eauto|]. rewrite <- E. auto. Qed.
Lemma good_start h : good [(0, h)] h.
Proof.
  split; [unfold value_of, value_from; cbn; ring|]. intros S. split.
  - constructor; [|constructor]. split; [left; reflexivity|]. apply S.
  - intros [|p ps] s E.
    + unfold value_of, value_from; cbn. pose proof capacity_pos. split; [exists 0%Z; ring|lra].
    + destruct ps; [|now destruct ps]. cbn in E. injection E as <- _. unfold value_of, value_from; cbn.
      eapply small_proper; [|exact S]. ring.
Qed.
Lemma good_step l h g w g' w' v : good l h -> g == g' -> w == w' -> gated scan_metered g h w = Some v -> good (l ++ [(g', w')]) v /\ small v.
Proof.
  intros [V B] Eg Ew. cbn [scan_metered gated metered].
  destruct (safe_with _ _ _) eqn:S; cbn [bind]; [|discriminate].
  cbn [fast gated bind]. destruct (_ && _ && _ && _) eqn:T; [|discriminate].
  rewrite !andb_true_iff in T. destruct T as [[[U W] Sh] Sv]. apply unit_b_ok in U. apply on_grid_b_ok in W.
  apply small_b_ok in Sh, Sv. intros E; injection E as <-.
  assert (X : value_of (l ++ [(g', w')]) == fadd (fmul g h) w).
  { rewrite value_app. unfold product_of, value_of at 2, value_from; cbn. rewrite fadd_ok, fmul_ok, V, <- Eg, <- Ew. ring. }
  split; auto. split; auto. intros _. destruct (B Sh) as [F P]. split.
  - apply Forall_app. split; auto. constructor; [|constructor]. split; cbn.
    + unfold is_unit in *. now rewrite <- Eg.
    + eapply grid_proper; eauto.
  - intros p s E. destruct s as [|y s] using rev_ind.
    + rewrite app_nil_r in E. subst p. eapply small_proper; [|exact Sv]. now rewrite X.
    + rewrite app_assoc in E. apply app_inj_tail in E. destruct E as [E _]. eauto.
Qed.

Notation RL := (Forall2 Qeq).
Lemma gated_good gs : forall hs ws vs gs' ws' steps steps', gated_values scan_metered gs hs ws = Some vs ->
  RL gs gs' -> RL ws ws' -> Forall2 good steps hs -> extend steps gs' ws' = Some steps' ->
  Forall2 (fun l v => good l v /\ small v) steps' vs.
Proof.
  induction gs as [|g gs IH]; intros [|h hs] ws vs gs' ws' steps steps' V G W S E; unfold gated_values in V; cbn [zip bind] in V;
    try discriminate; inversion G as [|? g' ? gs1 Eg Gs]; subst; inversion S as [|st ? sts ? Sg Ss]; subst.
  - destruct ws; cbn [zip] in V; [|discriminate]. injection V as <-. inversion W; subst. cbn in E. injection E as <-. constructor.
  - destruct (zip _ gs hs) as [gh|] eqn:Zg; cbn [bind] in V; [|discriminate]. destruct ws as [|w ws]; cbn [zip] in V; [discriminate|].
    cbn [fst snd] in V. destruct (gated scan_metered g h w) as [v|] eqn:Ev; cbn [bind] in V; [|discriminate].
    destruct (zip _ gh ws) as [vs1|] eqn:Zv; cbn [bind] in V; [|discriminate]. injection V as <-.
    inversion W as [|? w' ? ws1 Ew Ws]; subst. unfold extend in E. cbn [zip bind] in E.
    destruct (zip _ gs1 ws1) as [gw|] eqn:Zw; cbn [bind] in E; [|discriminate]. cbn [zip bind] in E.
    destruct (zip _ sts gw) as [st1|] eqn:Zs; cbn [bind] in E; [|discriminate]. injection E as <-.
    constructor; [eapply good_step; eauto|]. eapply IH; eauto.
    + unfold gated_values. rewrite Zg. exact Zv.
    + unfold extend. rewrite Zw. exact Zs.
Qed.
Lemma scanned_states steps vs : Forall2 (fun l v => good l v /\ small v) steps vs ->
  forall new, Forall2 (fun l x => exists a, scanned rnd l a x) steps new -> RL vs new.
Proof.
  induction 1 as [|l v steps vs [[V B] S] ? IH]; intros new N; inversion N as [|? x ? xs [a X]]; subst; constructor; auto.
  assert (K : bounded ([] ++ l ++ [])) by (rewrite app_nil_r; auto). destruct (any_grouping X _ _ K) as [_ E]. now rewrite E, V.
Qed.

Variable F : arithmetic Q.
Hypothesis HF : related scan_metered F Qeq.
Lemma inputs_rel l s s' : RL s s' -> orel (pair2 RL RL) (read_inputs scan_metered l s) (read_inputs F l s').
Proof.
  intros L. unfold read_inputs. eapply orel_bind; [eapply read_rel; eauto|intros r r' R].
  eapply orel_bind; [eapply relu_values_rel; eauto|intros u u' U]. apply orel_some. split; auto.
Qed.
Lemma outputs_rel l r r' new new' h h' s s' : RL r r' -> RL new new' -> RL h h' -> RL s s' ->
  orel RL (write_outputs scan_metered l r new h s) (write_outputs F l r' new' h' s').
Proof.
  intros R Nw Hh Ss. unfold write_outputs.
  assert (I : RL (r ++ new ++ (if exposes_previous l then h else [])) (r' ++ new' ++ (if exposes_previous l then h' else []))).
  { apply Forall2_app; auto. apply Forall2_app; auto. destruct (exposes_previous l); auto. }
  eapply orel_bind; [eapply relu_values_rel; eauto|intros u u' U].
  eapply orel_bind; [eapply map_values_rel; eauto using Forall2_app|intros o o' Oo]. apply orel_some. now apply Forall2_app.
Qed.
Lemma split_step l a s h new out : layer_step scan_metered l a s h = Some (new, out) ->
  exists r u, read_inputs scan_metered l s = Some (r, u) /\ do_move scan_metered (recurrence l) a (r ++ u) h = Some new /\
  write_outputs scan_metered l r new h s = Some out.
Proof.
  unfold layer_step, read_inputs, write_outputs. destruct (traverse (entry scan_metered s) (reads l)) as [r|]; cbn [bind]; [|discriminate].
  destruct (relu_values scan_metered (units l) r) as [u|]; cbn [bind]; [|discriminate].
  destruct (do_move scan_metered (recurrence l) a (r ++ u) h) as [n|] eqn:D; cbn [bind]; [|discriminate].
  destruct (relu_values scan_metered (readout_units l) _) as [x|] eqn:X; cbn [bind]; [|discriminate].
  destruct (map_values scan_metered (readout l) _) as [o|] eqn:Y; cbn [bind]; [|discriminate].
  intros E; injection E as <- <-. exists r, u. split; auto. split; auto. rewrite X. cbn [bind]. rewrite Y. reflexivity.
Qed.
Lemma scan_run_ok l gs ws : recurrence l = Gated gs ws -> forall steps h' streams' outs',
  scan_run rnd F l gs ws steps h' streams' outs' -> forall w streams h outs,
  layer_run scan_metered l w streams h = Some outs -> Forall2 RL streams streams' -> RL h h' -> Forall2 good steps h ->
  Forall2 RL outs outs'.
Proof.
  intros Rec. induction 1 as [steps h'|steps h' s' ss' r' u' g' w' steps' new' out' outs' Ri Mg Mw Ex Sc Wo Run IH];
    intros w streams h outs E L Hh Gd; inversion L as [|s ? ss ? Ls Lss]; subst; destruct w as [|a w]; cbn [layer_run] in E; try discriminate.
  - injection E as <-. constructor.
  - destruct (layer_step scan_metered l a s h) as [[new out]|] eqn:St; cbn [bind fst snd] in E; [|discriminate].
    destruct (layer_run scan_metered l w ss new) as [outs1|] eqn:Rn; cbn [bind] in E; [|discriminate]. injection E as <-.
    destruct (split_step _ _ _ _ St) as (r & u & Er & Em & Eo).
    destruct (inputs_rel l Ls Er) as ([r2 u2] & Er' & Rr & Ru). cbn in Rr, Ru. rewrite Ri in Er'. injection Er' as <- <-.
    rewrite Rec in Em. cbn [do_move] in Em.
    destruct (map_values scan_metered gs (r ++ u)) as [g|] eqn:Eg; cbn [bind] in Em; [|discriminate].
    destruct (map_values scan_metered ws (r ++ u)) as [v|] eqn:Ew; cbn [bind] in Em; [|discriminate].
    destruct (map_values_rel HF gs (Forall2_app Rr Ru) Eg) as (g2 & Eg' & Rg). rewrite Mg in Eg'. injection Eg' as <-.
    destruct (map_values_rel HF ws (Forall2_app Rr Ru) Ew) as (w2 & Ew' & Rw). rewrite Mw in Ew'. injection Ew' as <-.
    pose proof (@gated_good _ _ _ _ _ _ _ _ Em Rg Rw Gd Ex) as Gs. pose proof (scanned_states Gs Sc) as Rn'.
    destruct (outputs_rel l Rr Rn' Hh Ls Eo) as (o2 & Eo' & Ro). rewrite Wo in Eo'. injection Eo' as <-.
    constructor; auto. eapply IH; eauto. clear -Gs. induction Gs as [|? ? ? ? [] ]; constructor; auto.
Qed.
Lemma layer_run_rel l w : forall streams streams' h h', Forall2 RL streams streams' -> RL h h' ->
  orel (Forall2 RL) (layer_run scan_metered l w streams h) (layer_run F l w streams' h').
Proof.
  induction w as [|a w IH]; intros streams streams' h h' L Hh; inversion L; subst; cbn [layer_run]; try apply orel_none.
  - apply orel_some. constructor.
  - eapply orel_bind; [eapply layer_rel; eauto|]. intros p q [P1 P2]. eapply orel_bind; [apply IH; eauto|]. intros.
    apply orel_some. constructor; auto.
Qed.
Lemma start_good h h' : RL h h' -> Forall2 good (map (fun x => [(0, x)]) h') h.
Proof.
  induction 1 as [|x y h h' E ? IH]; cbn; constructor; auto. destruct (good_start y) as [V B]. split; [now rewrite V, E|].
  intros S. apply B. exact (small_proper E S).
Qed.

Fixpoint layers_run V (O : arithmetic V) (ls : list layer) (w : list letter) (streams : list (list V)) (hs : list (list V))
  : option (list (list V)) :=
  match ls, hs with
  | [], [] => Some streams
  | l :: ls, h :: hs => between <- layer_run O l w streams h ;; layers_run O ls w between hs
  | _, _ => None
  end.
Lemma parallel_layers_ok w ls streams' outs' : parallel_layers rnd F w ls streams' outs' -> forall streams hs outs,
  traverse (fun l => traverse (const scan_metered) (start l)) ls = Some hs -> layers_run scan_metered ls w streams hs = Some outs ->
  Forall2 RL streams streams' -> Forall2 RL outs outs'.
Proof.
  induction 1 as [streams'|l ls streams' between' outs' (h' & Eh' & Pl) ? IH]; intros streams hs outs S E L; cbn [traverse] in S.
  - injection S as <-. cbn in E. injection E as <-. exact L.
  - destruct (traverse (const scan_metered) (start l)) as [h|] eqn:Eh; cbn [bind] in S; [|discriminate].
    destruct (traverse _ ls) as [hs1|] eqn:Es; cbn [bind] in S; [|discriminate]. injection S as <-.
    cbn [layers_run] in E. destruct (layer_run scan_metered l w streams h) as [between|] eqn:Eb; cbn [bind] in E; [|discriminate].
    destruct (const_list HF (start l) Eh) as (h2 & Eh2 & Rh). rewrite Eh' in Eh2. injection Eh2 as <-.
    eapply IH; [reflexivity|exact E|].
    assert (Step : layer_run F l w streams' h' = Some between' -> Forall2 RL between between').
    { intros Ef. destruct (layer_run_rel l w L Rh Eb) as (b2 & Eb2 & Rb). rewrite Ef in Eb2. now injection Eb2 as <-. }
    destruct (recurrence l) as [gs ws| | | | |] eqn:Rec; auto. eapply scan_run_ok; eauto using start_good.
Qed.
End Scan.

(* ---- from one position after the other to one layer after the other ---- *)
Section Transpose.
Variables (V : Type) (O : arithmetic V) (N : network).
Lemma layers_run_nil ls : forall hs : states V, length hs = length ls -> layers_run O ls [] [] hs = Some [].
Proof. induction ls; intros [|h hs] L; cbn in *; try discriminate; auto. Qed.
Lemma layers_run_cons a w ls : forall s ss hs hs' out outs, layers_step O ls a s hs = Some (hs', out) ->
  layers_run O ls w ss hs' = Some outs -> layers_run O ls (a :: w) (s :: ss) hs = Some (out :: outs).
Proof.
  induction ls as [|l ls IH]; intros s ss [|h hs] hs' out outs; cbn [layers_step layers_run]; try discriminate.
  - intros E; injection E as <- <-. intros E; injection E as <-. reflexivity.
  - destruct (layer_step O l a s h) as [p|] eqn:E1; cbn [bind]; [|discriminate].
    destruct (layers_step O ls a (snd p) hs) as [q|] eqn:E2; cbn [bind]; [|discriminate].
    intros E; injection E as <- <-. cbn [layers_run]. destruct (layer_run O l w ss (fst p)) as [b|] eqn:E3; cbn [bind]; [|discriminate].
    intros E4. cbn [layer_run]. rewrite E1. cbn [bind]. rewrite E3. cbn [bind]. eapply IH; [|exact E4]. rewrite E2. now destruct q.
Qed.
Lemma run_transposed w : forall hs x y, length hs = length (layers N) -> run O N hs x w = Some y ->
  exists streams outs answers, traverse (embed O N) w = Some streams /\ layers_run O (layers N) w streams hs = Some outs /\
  traverse (answer_of O (decode N)) outs = Some answers /\ y = last answers x.
Proof.
  induction w as [|a w IH]; intros hs x y L; cbn [run traverse].
  - intros E; injection E as <-. exists [], [], []. rewrite layers_run_nil by auto. auto.
  - unfold net_step, embed. destruct (nth_error (embedding N) a) as [e|] eqn:Ee; cbn [bind]; [|discriminate].
    destruct (traverse (const O) e) as [v|] eqn:Ev; cbn [bind]; [|discriminate].
    destruct (layers_step O (layers N) a v hs) as [[hs' out]|] eqn:El; cbn [bind fst snd]; [|discriminate].
    destruct (answer_of O (decode N) out) as [z|] eqn:Ea; cbn [bind fst snd]; [|discriminate]. intros E.
    assert (L' : length hs' = length (layers N)).
    { clear -El L. revert v hs hs' out El L. induction (layers N) as [|l ls IH]; intros v [|h hs] hs' out; cbn; try discriminate.
      - intros E; now injection E as <- <-.
      - destruct (layer_step O l a v h) as [p|]; cbn; [|discriminate]. destruct (layers_step O ls a (snd p) hs) as [q|] eqn:F; cbn; [|discriminate].
        intros E L; injection E as <- <-. cbn. f_equal. destruct q. eapply IH; eauto. }
    destruct (IH _ _ _ L' E) as (ss & outs & ans & E1 & E2 & E3 & ->).
    unfold embed in E1. rewrite E1. cbn [bind]. exists (v :: ss), (out :: outs), (z :: ans). split; auto.
    split; [eapply layers_run_cons; eauto|]. cbn [traverse]. rewrite Ea. cbn [bind]. rewrite E3. cbn [bind]. split; auto.
    destruct ans; auto. cbn [last]. clear. revert a0. induction ans; cbn [last]; auto.
Qed.
End Transpose.

Section Check.
Variables (f : format) (k : nat) (t : task) (N : network) (M : machine) (conf_eqb : conf M -> conf M -> bool) (conf_hash : conf M -> Z).
Hypothesis conf_eqb_ok : forall x y, conf_eqb x y = true -> x = y.
Definition check_scan (most : nat) : bool :=
  (k <=? finest f)%nat &&
  check (@joint Q Q (scan_metered f k) (scan_metered f k) eq (self_related _) qeqb mix qeqb_ok t N M
    conf_eqb conf_hash conf_eqb_ok) most.
Theorem check_scan_sound most : check_scan most = true -> exact_in_any_grouping f N (right_after t M).
Proof.
  unfold check_scan. rewrite andb_true_iff, Nat.leb_le. intros [Fk K] rnd F P E H w answers Ov (streams & outs & Es & Pl & Ea) Wi.
  apply check_sound in K. destruct (K w Ov Wi) as (x & Ax & Rx).
  pose proof (scan_metered_ok k P E H) as HF.
  unfold answer_in in Ax. destruct (start_states (scan_metered f k) N) as [hs|] eqn:Eh; cbn [bind] in Ax; [|discriminate].
  assert (L : length hs = length (layers N)).
  { clear -Eh. unfold start_states in Eh. revert hs Eh. induction (layers N) as [|l ls IH]; cbn [traverse]; intros hs E.
    - now injection E as <-.
    - destruct (traverse (const (scan_metered f k)) (start l)); cbn [bind] in E; [|discriminate].
      destruct (traverse _ ls) as [hs1|] eqn:F; cbn [bind] in E; [|discriminate]. injection E as <-. cbn. f_equal. eauto. }
  destruct (run_transposed _ _ _ _ _ L Ax) as (s0 & o0 & a0 & E0 & L0 & A0 & ->).
  assert (Rs : orel (Forall2 (Forall2 Qeq)) (traverse (embed (scan_metered f k) N) w) (traverse (embed F N) w)).
  { eapply (@traverse_rel _ _ _ _ eq); [|apply same_list]. intros a ? <-. unfold embed.
    eapply orel_bind; [apply orel_refl|]. intros e ? <-. exact (const_list HF e). }
  destruct (Rs _ E0) as (s1 & Es1 & Rs1). rewrite Es in Es1. injection Es1 as <-.
  pose proof (parallel_layers_ok Fk P E HF Pl Eh L0 Rs1) as Ro.
  assert (Ra : orel (Forall2 eq) (traverse (answer_of (scan_metered f k) (decode N)) o0) (traverse (answer_of F (decode N)) outs)).
  { eapply traverse_rel; [|exact Ro]. intros x y X. exact (answer_rel HF (decode N) X). }
  destruct (orel_eq_list Ra A0) as (a1 & Ea1 & <-). rewrite Ea in Ea1. injection Ea1 as ->. exact Rx.
Qed.
End Check.

Definition check_dfa_scan (f : format) (k : nat) (t : task) (N : network) (D : dfa) (most : nat) : bool :=
  no_heads N && (num_letters N =? letters D)%nat && checked_automaton D &&
  @check_scan f k t N (automaton D) N.eqb state_hash state_eqb_ok most.
Theorem check_dfa_scan_sound f k t N D most :
  check_dfa_scan f k t N D most = true -> exact_in_any_grouping f N (automaton_right t D).
Proof.
  unfold check_dfa_scan. rewrite !andb_true_iff, Nat.eqb_eq. intros [[[_ E] W] K] rnd F P X H w answers Ov Pa.
  apply automaton_right_ok; auto; [now rewrite <- E|]. eapply check_scan_sound; eassumption.
Qed.
Definition check_brackets_scan (f : format) (k : nat) (t : task) (N : network) (kinds : nat) (depth : option nat) (most : nat) : bool :=
  no_heads N && (num_letters N =? 2 * kinds)%nat && @check_scan f k t N (brackets kinds depth) conf_eqb conf_hash conf_eqb_ok most.
Theorem check_brackets_scan_sound f k t N kinds d most :
  check_brackets_scan f k t N kinds d most = true -> exact_in_any_grouping f N (right_after t (brackets kinds d)).
Proof. unfold check_brackets_scan. rewrite !andb_true_iff. intros [_ K]. eapply check_scan_sound, K. Qed.
