(* Stack invariants: brackets of bounded depth whose open kinds are held in slots, one for each depth.  A cell knows the
   depth and the innermost kind; the slots below it are unknowns, of which `holds` says that they are the codes of the
   kinds on the stack, and the slots above it are unknowns within bounds.  Counters are those of CounterInvariant.v.
   After a closing bracket every kind may be the innermost: each is a case, assumed before the step.  Places, roles,
   codes and bounds are hints. *)
From Coq Require Import QArith Qround ZArith List Bool Arith Lia Lqa.
From Nerode Require Import Network Related Cover JointClosure Automata Forms PositiveParts CounterInvariant Saturating.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

Lemma nth_both {A B} (S : A -> B -> Prop) d e l m : Forall2 S l m -> S d e -> forall i, S (nth i l d) (nth i m e).
Proof. induction 1; intros K [|i]; cbn; auto. Qed.
Lemma unknown_nth u : forall n, eval (unknown u) n == nth u n 0.
Proof.
  unfold eval, unknown. cbn [fst snd]. induction u as [|u IH]; intros [|z n]; cbn [repeat app linear nth]; try ring.
  rewrite <- IH. ring.
Qed.
Lemma linear_prefix v cs : forall n, (length cs <= length n)%nat -> linear cs (n ++ v) == linear cs n.
Proof.
  induction cs as [|c cs IH]; intros [|z n] L; cbn [length app linear] in *; try lia; try reflexivity.
  rewrite IH by lia. reflexivity.
Qed.
Lemma in_numbered {A} (x : A) l : forall i u, nth_error l u = Some x -> In ((i + u)%nat, x) (combine (seq i (length l)) l).
Proof.
  induction l as [|y l IH]; intros i [|u]; cbn; try discriminate.
  - intros E; injection E as ->. left. f_equal. lia.
  - intros E. right. replace (i + S u)%nat with (S i + u)%nat by lia. now apply IH.
Qed.
(* two lists side by side, with the number of each entry *)
Fixpoint zipi {A B C} (f : nat -> A -> B -> option C) (i : nat) (l : list A) (m : list B) : option (list C) :=
  match l, m with
  | [], [] => Some []
  | x :: l, y :: m => z <- f i x y ;; zs <- zipi f (S i) l m ;; Some (z :: zs)
  | _, _ => None
  end.
Lemma zipi_ok {A B C D} (R : B -> D -> Prop) (R' : C -> D -> Prop) f (l : list A) : forall m xs ys i,
  zipi f i l m = Some ys -> Forall2 R m xs ->
  (forall j o b c x, nth_error xs j = Some x -> R b x -> f (i + j)%nat o b = Some c -> R' c x) -> Forall2 R' ys xs.
Proof.
  induction l as [|o l IH]; intros [|b m] xs ys i; cbn; try discriminate.
  - intros E L K. injection E as <-. inversion L. constructor.
  - destruct (f i o b) as [c|] eqn:F; cbn; [|discriminate]. destruct (zipi f (S i) l m) as [cs|] eqn:G; cbn; [|discriminate].
    intros E L K. injection E as <-. inversion L as [|? x ? xs' Bx Lx]; subst. constructor.
    + apply (K 0%nat o b c x); auto. now rewrite Nat.add_0_r.
    + eapply IH; eauto. intros j ? ? ? ? H H1 H2. apply (K (S j) o0 b0 c0 x0); auto. now rewrite Nat.add_succ_r.
Qed.

Section Stack.
Variables (t : task) (N : network) (kinds depth : nat).
Variable increments : list (list Z).
Variables (start_at : list Z) (cuts : list (Z * nat)) (shapes : list (list (option form))).
Variable places : list (nat * nat).           (* of each unknown: its layer and its coordinate there; depth by depth *)
Variable roles : list (list (option nat)).    (* of each coordinate: its unknown *)
Variable codes : list (list Q).               (* for each kind, its values in a slot *)
Variable bounds : interval.                   (* of every slot *)
Definition width : nat := match codes with c :: _ => length c | [] => 1 end.
Definition num_counters : nat := length start_at.
Definition code (k i : nat) : Q := nth i (nth k codes []) 0.
Definition the_brackets : machine := brackets kinds (Some depth).

Definition value (hs : states Q) (p : nat * nat) : Q := nth (snd p) (nth (fst p) hs []) 0.
Definition slots (hs : states Q) : list Q := map (value hs) places.
Definition form_at (fs : states form) (p : nat * nat) : form := nth (snd p) (nth (fst p) fs []) (0, []).
Definition slot_region : region := repeat bounds (length places).

(* ---- what is known of the stack: None once a bracket did not fit, or the depth and the innermost kind ---- *)
Definition seen := option (nat * nat).
Definition depth_of (k : seen) : nat := match k with Some (d, _) => d | None => 0 end.
Definition top_of (k : seen) : nat := match k with Some (_, j) => j | None => 0 end.
Definition agrees (k : seen) (q : option (list nat)) (v : list Q) : Prop :=
  match k, q with
  | None, None => True
  | Some (d, top), Some s =>
      length s = d /\ Forall (fun j => (j < kinds)%nat) s /\ (forall j r, s = j :: r -> j = top) /\
      forall u, (u < length places)%nat -> (S (u / width) < d)%nat ->
        nth u v 0 == code (nth (u / width) (rev s) 0%nat) (u mod width)
  | _, _ => False
  end.
Definition stack_of (k : seen) : option (list nat) :=
  match k with None => None | Some (O, _) => Some [] | Some (S d, top) => Some (top :: repeat 0%nat d) end.
Definition seen_allowed (k : seen) : answer := bracket_allowed kinds (Some depth) (stack_of k).
Lemma seen_allowed_ok k q v : agrees k q v -> allowed the_brackets q = seen_allowed k.
Proof.
  destruct k as [[d top]|], q as [s|]; cbn [agrees]; try contradiction; [|reflexivity]. intros (L & _ & T & _). subst d.
  unfold seen_allowed. destruct s as [|j s]; cbn [length stack_of]; [reflexivity|]. rewrite (T _ _ eq_refl). cbn.
  now rewrite repeat_length.
Qed.

(* The cases after a letter, with the kind that is assumed below an innermost bracket that closes. *)
Definition cases (k : seen) (a : letter) : list (seen * option nat) :=
  match k with
  | None => [(None, None)]
  | Some (d, top) =>
      if Nat.even a then if (d <? depth)%nat then [(Some (S d, Nat.div2 a), None)] else [(None, None)]
      else match d with
           | O => [(None, None)]
           | S e =>
               if Nat.eqb top (Nat.div2 a)
               then match e with O => [(Some (0%nat, 0%nat), None)] | S _ => map (fun j => (Some (e, j), Some j)) (seq 0 kinds) end
               else [(None, None)]
           end
  end.
Definition assumed (k : seen) (o : option nat) (v : list Q) : Prop :=
  match o with
  | None => True
  | Some j => forall u, (u < length places)%nat -> S (S (u / width)) = depth_of k -> nth u v 0 == code j (u mod width)
  end.
(* what has to be kept: the slots below the new innermost bracket *)
Definition kept (k k' : seen) (v v' : list Q) : Prop :=
  forall u, (u < length places)%nat -> (S (u / width) < depth_of k')%nat ->
  nth u v' 0 == if (S (u / width) <? depth_of k)%nat then nth u v 0 else code (top_of k) (u mod width).
Lemma nth_last (j : nat) r d : nth (length r) (rev (j :: r)) d = j.
Proof. cbn. rewrite app_nth2; rewrite rev_length; [now rewrite Nat.sub_diag|lia]. Qed.
Lemma cases_ok k q v a : agrees k q v -> (a < 2 * kinds)%nat ->
  exists k' o, In (k', o) (cases k a) /\ assumed k o v /\
  forall v', kept k k' v v' -> agrees k' (next the_brackets q a) v'.
Proof.
  intros A La. assert (Dead : forall v', agrees None None v') by (intros; exact I).
  destruct k as [[d top]|], q as [s|]; cbn [agrees] in A; try contradiction.
  2: { exists None, None. split; [now left|]. split; [exact I|]. intros; apply Dead. }
  destruct A as (L & F & T & V). cbn [cases next the_brackets brackets bracket_next bind].
  destruct (Nat.even a).
  - cbn [may_open]. rewrite L. destruct (Nat.ltb_spec d depth).
    2: { exists None, None. split; [now left|]. split; [exact I|]. intros; apply Dead. }
    exists (Some (S d, Nat.div2 a)), None. split; [now left|]. split; [exact I|]. intros v' K. cbn [agrees].
    split; [cbn; lia|]. split; [constructor; auto; rewrite Nat.div2_div; apply Nat.div_lt_upper_bound; lia|].
    split; [intros j r E; now injection E|]. intros u U Du. rewrite (K u U Du). cbn [depth_of top_of rev].
    rewrite app_nth1 by (rewrite rev_length; lia). destruct (Nat.ltb_spec (S (u / width)) d); [now apply V|].
    destruct s as [|j r]; cbn [length] in L; [lia|]. rewrite (T _ _ eq_refl).
    replace (u / width)%nat with (length r) by lia. now rewrite nth_last.
  - destruct s as [|j s]; cbn [length] in L; subst d.
    { exists None, None. split; [now left|]. split; [exact I|]. intros; apply Dead. }
    pose proof (T _ _ eq_refl) as E. subst j. destruct (Nat.eqb top (Nat.div2 a)).
    2: { exists None, None. split; [now left|]. split; [exact I|]. intros; apply Dead. }
    inversion F as [|? ? _ F']; subst. destruct s as [|j s]; cbn [length].
    + exists (Some (0%nat, 0%nat)), None. split; [now left|]. split; [exact I|]. intros v' K. cbn. repeat split; auto; [discriminate|lia].
    + inversion F' as [|? ? Lj _]; subst. exists (Some (S (length s), j)), (Some j). split.
      { apply in_map_iff. exists j. split; auto. apply in_seq. lia. }
      split.
      * intros u U Du. cbn [depth_of] in Du. rewrite (V u U) by (cbn; lia).
        cbn [rev]. rewrite app_nth1 by (rewrite app_length, rev_length; cbn; lia).
        replace (u / width)%nat with (length s) by lia. change (rev s ++ [j]) with (rev (j :: s)). now rewrite nth_last.
      * intros v' K. cbn [agrees]. split; [reflexivity|]. split; auto. split; [intros ? ? E; now injection E|].
        intros u U Du. rewrite (K u U Du). cbn [depth_of].
        replace (S (u / width) <? S (S (length s)))%nat with true by (symmetry; apply Nat.ltb_lt; lia).
        rewrite (V u U) by (cbn; lia). change (rev (top :: j :: s)) with (rev (j :: s) ++ [top]).
        rewrite app_nth1 by (rewrite rev_length; cbn; lia). reflexivity.
Qed.

(* ---- forms: a kind is assumed before the step; afterwards slots are unknowns again ---- *)
Definition assume_one (d j : nat) (o : option nat) (f : form) : option form :=
  match o with
  | Some u =>
      if Nat.eqb (S (S (u / width))) d
      then if (u <? length places)%nat && form_eqb f (unknown (num_counters + u)) then Some (code j (u mod width), []) else None
      else Some f
  | None => Some f
  end.
Definition assume (k : seen) (o : option nat) (fs : states form) : option (states form) :=
  match o with
  | None => Some fs
  | Some j => zipi (fun _ => zipi (fun _ => assume_one (depth_of k) j) 0) 0 roles fs
  end.
Definition plain (f : form) : option form := if (length (snd f) <=? num_counters)%nat then Some f else None.
Definition forget_one (d l i : nat) (o : option nat) (f : form) : option form :=
  match o with
  | Some u =>
      if Nat.eqb (S (u / width)) d then plain f
      else p <- nth_error places u ;;
           if Nat.eqb (fst p) l && Nat.eqb (snd p) i then Some (unknown (num_counters + u)) else None
  | None => plain f
  end.
Definition forget (k : seen) (fs : states form) : option (states form) :=
  zipi (fun l => zipi (forget_one (depth_of k) l) 0) 0 roles fs.
Definition in_bounds (r : region) (f : form) : bool :=
  match bounds with
  | (Some lo, Some hi) => at_least f r (inject_Z lo) && at_most f r (inject_Z hi)
  | _ => false
  end.
Definition keeps (r : region) (k k' : seen) (fs : states form) (u : nat) (p : nat * nat) : bool :=
  let f := form_at fs p in
  in_bounds r f &&
  if (S (u / width) <? depth_of k')%nat
  then equal_on r f (if (S (u / width) <? depth_of k)%nat then unknown (num_counters + u) else (code (top_of k) (u mod width), []))
  else true.
Definition all_kept (r : region) (k k' : seen) (fs : states form) : bool :=
  forallb (fun x => keeps r k k' fs (fst x) (snd x)) (combine (seq 0 (length places)) places).

Definition numbers (z : list Z) (v : list Q) : list Q := whole z ++ v.
Lemma numbers_slot z v u : length z = num_counters -> eval (unknown (num_counters + u)) (numbers z v) == nth u v 0.
Proof.
  intros L. rewrite unknown_nth. unfold numbers. rewrite app_nth2; unfold whole; rewrite map_length, L; [|lia].
  now replace (num_counters + u - num_counters)%nat with u by lia.
Qed.
Lemma assume_ok z v k o fs gs hs : length z = num_counters -> assumed k o v ->
  assume k o fs = Some gs -> Forall2 (Forall2 (means (numbers z v))) fs hs -> Forall2 (Forall2 (means (numbers z v))) gs hs.
Proof.
  intros L As E W. destruct o as [j|]; cbn [assume] in E; [|now injection E as <-].
  eapply zipi_ok; [exact E|exact W|]. cbn beta. intros j1 o1 b1 c1 x1 _ R E'. eapply zipi_ok; [exact E'|exact R|]. cbn beta.
  intros j2 role f g x _ Fx Eg. unfold assume_one in Eg. destruct role as [u|]; [|now injection Eg as <-].
  destruct (Nat.eqb_spec (S (S (u / width))) (depth_of k)) as [Du|]; [|now injection Eg as <-].
  destruct ((u <? length places)%nat && form_eqb f (unknown (num_counters + u))) eqn:B; [|discriminate].
  apply andb_true_iff in B. destruct B as [U B]. apply Nat.ltb_lt in U. apply form_eqb_ok in B. subst f. injection Eg as <-.
  unfold means in *. rewrite eval_const, <- Fx, (numbers_slot _ _ _ L). symmetry. now apply As.
Qed.
Lemma plain_ok z v v' f g x : length z = num_counters -> plain f = Some g -> means (numbers z v) f x -> means (numbers z v') g x.
Proof.
  unfold plain. destruct (Nat.leb_spec (length (snd f)) num_counters) as [Le|]; [|discriminate]. intros L E; injection E as <-.
  unfold means, eval, numbers. assert (Ll : (length (snd f) <= length (whole z))%nat) by (unfold whole; rewrite map_length; lia).
  rewrite !(linear_prefix _ _ _ Ll). auto.
Qed.
Lemma forget_ok z v k fs gs hs : length z = num_counters ->
  forget k fs = Some gs -> Forall2 (Forall2 (means (numbers z v))) fs hs -> Forall2 (Forall2 (means (numbers z (slots hs)))) gs hs.
Proof.
  intros L E W. eapply zipi_ok; [exact E|exact W|]. cbn beta. intros l o1 b1 c1 row Er R E'. eapply zipi_ok; [exact E'|exact R|].
  cbn beta. intros i o f g x Ex Fx Eg. cbn [Nat.add] in Eg. unfold forget_one in Eg. destruct o as [u|]; [|eapply plain_ok; eauto].
  destruct (Nat.eqb (S (u / width)) (depth_of k)); [eapply plain_ok; eauto|].
  destruct (nth_error places u) as [p|] eqn:Ep; cbn [bind] in Eg; [|discriminate].
  destruct (Nat.eqb_spec (fst p) l) as [A|]; cbn [andb] in Eg; [|discriminate].
  destruct (Nat.eqb_spec (snd p) i) as [B|]; [|discriminate]. injection Eg as <-. unfold means. rewrite (numbers_slot _ _ _ L).
  unfold slots. rewrite (nth_error_nth _ _ 0 (map_nth_error (value hs) _ _ Ep)). unfold value.
  rewrite A, B, (nth_error_nth _ _ [] Er), (nth_error_nth _ _ 0 Ex). reflexivity.
Qed.
Lemma form_at_ok n fs hs p : Forall2 (Forall2 (means n)) fs hs -> eval (form_at fs p) n == value hs p.
Proof.
  intros W. apply (nth_both (S := means n)); [apply (nth_both (S := Forall2 (means n))); auto|]. unfold means. now rewrite eval_const.
Qed.
Lemma in_bounds_ok r n f : in_bounds r f = true -> inreg n r -> within_i (eval f n) bounds.
Proof.
  unfold in_bounds. destruct bounds as [[lo|] [hi|]]; try discriminate. rewrite andb_true_iff. intros [A B] Rn.
  split; cbn; [eapply at_least_ok|eapply at_most_ok]; eauto.
Qed.
Lemma within_proper x y i : x == y -> within_i x i -> within_i y i.
Proof. intros E [A B]. split; [destruct (fst i)|destruct (snd i)]; auto; now rewrite <- E. Qed.
Lemma in_slots v : length v = length places -> (forall u, (u < length places)%nat -> within_i (nth u v 0) bounds) -> inreg v slot_region.
Proof.
  unfold slot_region. intros <-. clear. induction v as [|x v IH]; intros K; cbn; constructor.
  - apply (K 0%nat). cbn; lia.
  - apply IH. intros u U. apply (K (S u)). cbn; lia.
Qed.
Lemma slot_value hs u p : nth_error places u = Some p -> nth u (slots hs) 0 = value hs p.
Proof. intros E. exact (nth_error_nth _ _ 0 (map_nth_error (value hs) _ _ E)). Qed.
Lemma all_kept_ok z v r k k' fs hs : length z = num_counters -> inreg (numbers z v) r ->
  Forall2 (Forall2 (means (numbers z v))) fs hs -> all_kept r k k' fs = true ->
  inreg (slots hs) slot_region /\ kept k k' v (slots hs).
Proof.
  intros L Rn W K. unfold all_kept in K. rewrite forallb_forall in K.
  assert (P : forall u, (u < length places)%nat -> exists p, nth_error places u = Some p /\ keeps r k k' fs u p = true).
  { intros u U. destruct (nth_error places u) as [p|] eqn:E; [|apply nth_error_None in E; lia].
    exists p. split; auto. exact (K _ (in_numbered _ 0 _ E)). }
  split.
  - apply in_slots; [apply map_length|]. intros u U. destruct (P u U) as (p & E & Kp). unfold keeps in Kp.
    apply andb_true_iff in Kp. destruct Kp as [B _]. rewrite (slot_value _ _ E).
    eapply within_proper; [apply (form_at_ok p W)|]. eapply in_bounds_ok; eauto.
  - intros u U Du. destruct (P u U) as (p & E & Kp). unfold keeps in Kp. apply andb_true_iff in Kp. destruct Kp as [_ B].
    apply Nat.ltb_lt in Du. rewrite Du in B. rewrite (slot_value _ _ E), <- (form_at_ok p W), <- (equal_on_ok _ _ B Rn).
    destruct (S (u / width) <? depth_of k)%nat; [apply numbers_slot; auto|now rewrite eval_const].
Qed.

(* ---- the cover ---- *)
Definition scell := (states form * seen * region)%type.
Definition sholds (c : scell) (hs : states Q) (q : option (list nat)) : Prop :=
  exists z, zreg z (snd c) /\ length z = num_counters /\ inreg (slots hs) slot_region /\
  Forall2 (Forall2 (means (numbers z (slots hs)))) (fst (fst c)) hs /\ agrees (snd (fst c)) q (slots hs).
Definition sorigin : option scell :=
  let r := point_region start_at in
  fs <- start_states (forms (r ++ slot_region)) N ;;
  if forallb (fun p => match form_at fs p with
                       | (c, []) => match bounds with (Some lo, Some hi) => Qle_bool (inject_Z lo) c && Qle_bool c (inject_Z hi) | _ => false end
                       | _ => false end) places
  then gs <- forget (Some (0, 0)%nat) fs ;; Some (gs, Some (0, 0)%nat, r) else None.
Definition one_case (fs : states form) (k : seen) (r : region) (a : letter) (d : list Z) (case : seen * option nat) : option (list scell) :=
  gs <- assume k (snd case) fs ;;
  p <- net_step (pforms (r ++ slot_region)) N (with_parts gs) a ;; f1 <- without_parts (fst p) ;;
  let k' := fst case in
  let r' := shift_region r d in
  let news := shape_states (r' ++ slot_region) shapes (map (map (restate d)) f1) in
  if rightb t (seen_allowed k') (snd p) && all_kept (r' ++ slot_region) k k' news
  then traverse (fun s => us <- forget k' (settle (s ++ slot_region) news) ;; Some (us, k', s)) (split r' cuts)
  else None.
Definition simages (c : scell) (a : letter) : option (list scell) :=
  let '(fs, k, r) := c in
  if skips t (seen_allowed k) a then Some []
  else if (a <? 2 * kinds)%nat then
    d <- nth_error increments a ;;
    if Nat.eqb (length d) num_counters then ds <- traverse (one_case fs k r a d) (cases k a) ;; Some (concat ds) else None
  else None.
Definition seen_eqb (k l : seen) : bool :=
  match k, l with Some (d, i), Some (e, j) => Nat.eqb d e && Nat.eqb i j | None, None => true | _, _ => false end.
Definition scell_eqb (c d : scell) : bool :=
  seen_eqb (snd (fst c)) (snd (fst d)) && listb interval_eqb (snd c) (snd d) && listb (listb form_eqb) (fst (fst c)) (fst (fst d)).
Definition scell_hash (c : scell) : positive :=
  key (fold_left (fun h l => fold_left (fun h f => mix h (fst f)) l h) (fst (fst c))
    (Z.of_nat (depth_of (snd (fst c)) * 1000 + top_of (snd (fst c))))).

Lemma restate_numbers d z v fs hs : length z = length d -> Forall2 (Forall2 (means (numbers z v))) fs hs ->
  Forall2 (Forall2 (means (numbers (shift z d) v))) (map (map (restate d)) fs) hs.
Proof.
  intros L W. assert (S : forall cs, linear cs (numbers (shift z d) v) == linear cs (numbers z v) + drift cs d).
  { clear W. revert d L. induction z as [|y z IH]; intros [|x d] L [|c cs]; unfold numbers; cbn in *; try discriminate; try ring.
    injection L as L. rewrite fadd_ok, fmul_ok. specialize (IH _ L cs). unfold numbers in IH. unfold shift, whole in *.
    rewrite IH, inject_Z_plus. ring. }
  assert (O : forall f, eval (restate d f) (numbers (shift z d) v) == eval f (numbers z v)).
  { intros [c [|e l]]; unfold restate; cbn [snd fst]; [now rewrite !eval_const|].
    unfold eval. cbn [fst snd]. rewrite fadd_ok, fmul_ok, S. ring. }
  induction W as [|f h fs hs F ? IH]; cbn; constructor; auto. clear -F O.
  induction F; cbn; constructor; auto. unfold means in *. now rewrite O.
Qed.
Lemma in_both z v r : zreg z r -> inreg v slot_region -> inreg (numbers z v) (r ++ slot_region).
Proof. intros. apply Forall2_app; auto. now apply zreg_in. Qed.
Lemma traverse_concat {A B} (f : A -> option (list B)) l ds x ys y :
  traverse f l = Some ds -> In x l -> f x = Some ys -> In y ys -> In y (concat ds).
Proof.
  intros T Ix E Iy. destruct (traverse_in _ _ _ T Ix) as (zs & E' & Iz). rewrite E in E'. injection E' as <-.
  apply in_concat. eauto.
Qed.

Definition stacks : cover rational t N the_brackets.
Proof.
  refine (@Cover Q rational t N the_brackets scell sholds sorigin simages _ _ scell_eqb _ scell_hash).
  - intros c. unfold sorigin. set (r := point_region start_at).
    destruct (start_states (forms (r ++ slot_region)) N) as [fs|] eqn:E; cbn [bind]; [|discriminate].
    destruct (forallb _ places) eqn:B; [|discriminate]. destruct (forget _ fs) as [gs|] eqn:G; cbn [bind]; [|discriminate].
    intros H; injection H as <-. rewrite forallb_forall in B.
    (* the start does not depend on the region *)
    destruct (@start_related _ _ (forms []) rational (means []) (forms_ok (Forall2_nil _)) N fs E) as (hs & Eh & _).
    exists hs. split; auto. set (n := numbers start_at (slots hs)).
    assert (W : Forall2 (Forall2 (means n)) fs hs).
    { assert (U : inreg n (map (fun _ => (None, None)) n)) by (clearbody n; clear; induction n; cbn; constructor; auto; now split).
      destruct (@start_related _ _ (forms _) rational (means n) (forms_ok U) N fs E) as (hs2 & E2 & W). congruence. }
    exists start_at. cbn [fst snd]. split; [apply point_in|]. split; [reflexivity|]. split.
    + apply in_slots; [apply map_length|]. intros u U. destruct (nth_error places u) as [p|] eqn:Ep; [|apply nth_error_None in Ep; lia].
      rewrite (slot_value _ _ Ep). specialize (B p (nth_error_In _ _ Ep)). pose proof (form_at_ok p W) as V.
      destruct (form_at fs p) as [c [|? ?]]; [|discriminate]. rewrite eval_const in V. eapply within_proper; [exact V|].
      destruct bounds as [[lo|] [hi|]]; try discriminate. rewrite andb_true_iff, !Qle_bool_iff in B. exact B.
    + split; [eapply forget_ok; [reflexivity|exact G|exact W]|]. cbn. repeat split; auto; [discriminate|lia].
  - intros [[fs k] r] hs q a cs (z & Zr & Lz & Sl & W & Ag) Sk. cbn [fst snd] in *. unfold simages.
    rewrite <- (seen_allowed_ok _ _ _ Ag), Sk. destruct (Nat.ltb_spec a (2 * kinds)) as [La|]; [|discriminate].
    destruct (nth_error increments a) as [d|]; cbn [bind]; [|discriminate].
    destruct (Nat.eqb_spec (length d) num_counters) as [Ld|]; [|discriminate].
    destruct (traverse (one_case fs k r a d) (cases k a)) as [ds|] eqn:Tr; cbn [bind]; [|discriminate].
    intros H; injection H as <-. destruct (cases_ok _ _ _ Ag La) as (k' & o & Ik & As & Next).
    destruct (traverse_in _ _ _ Tr Ik) as (ys & Ey & _). pose proof Ey as Ey'. unfold one_case in Ey. cbn [fst snd] in Ey.
    destruct (assume k o fs) as [gs|] eqn:Eg; cbn [bind] in Ey; [|discriminate].
    destruct (net_step (pforms (r ++ slot_region)) N (with_parts gs) a) as [[p1 x]|] eqn:Es; cbn [bind fst snd] in Ey; [|discriminate].
    destruct (without_parts p1) as [f1|] eqn:Ef; cbn [bind] in Ey; [|discriminate].
    destruct (rightb t (seen_allowed k') x) eqn:Rx; cbn [andb] in Ey; [|discriminate].
    destruct (all_kept _ k k' _) eqn:Ak; [|discriminate].
    pose proof (@assume_ok z (slots hs) k o fs gs hs Lz As Eg W) as W1.
    destruct (step_related (pforms_ok (in_both Zr Sl)) N a (with_parts_ok W1) Es) as ([hs' y] & Eq & Hs & Hx).
    cbn [fst snd] in Hs, Hx. subst y. apply (@without_parts_ok _ _ _ _ Ef) in Hs.
    assert (W2 := @restate_numbers d z _ _ _ (eq_trans Lz (eq_sym Ld)) Hs). pose proof (shift_in Zr d) as Zr'.
    assert (W3 := @shape_ok _ _ (in_both Zr' Sl) _ _ shapes W2).
    assert (Lz' : length (shift z d) = num_counters) by (unfold shift; rewrite map_length, combine_length; lia).
    destruct (@all_kept_ok _ _ _ _ _ _ _ Lz' (in_both Zr' Sl) W3 Ak) as [Sl' Kp]. specialize (Next _ Kp).
    destruct (split_ok Zr' cuts) as (s & Is & Zs). destruct (traverse_in _ _ _ Ey Is) as (c & Ec & Ic).
    destruct (forget k' _) as [us|] eqn:Eu; cbn [bind] in Ec; [|discriminate]. injection Ec as <-.
    exists hs', x. split; auto. split; [rewrite (seen_allowed_ok _ _ _ Next); now apply rightb_ok|].
    exists (us, k', s). split; [eapply traverse_concat; eauto|]. exists (shift z d). cbn [fst snd].
    split; [exact Zs|]. split; [exact Lz'|]. split; [exact Sl'|]. split; [|exact Next].
    eapply forget_ok; [exact Lz'|exact Eu|]. apply settle_ok; [exact (in_both Zs Sl)|exact W3].
  - intros [[fs k] r] [[gs l] s]. unfold scell_eqb; cbn. rewrite !andb_true_iff. intros [[A B] C].
    apply listb_ok in B; [|apply interval_eqb_ok]. apply listb_ok in C; [|apply listb_ok, form_eqb_ok].
    assert (k = l); [|now subst]. destruct k as [[? ?]|], l as [[? ?]|]; cbn in A; try discriminate; auto.
    apply andb_true_iff in A. destruct A as [A A']. apply Nat.eqb_eq in A. apply Nat.eqb_eq in A'. now subst.
Defined.
End Stack.

(* ---- the checker: roles and bounds are found from the places ---- *)
Fixpoint place_of (p : nat * nat) (l : list (nat * nat)) (u : nat) : option nat :=
  match l with
  | [] => None
  | q :: l => if Nat.eqb (fst p) (fst q) && Nat.eqb (snd p) (snd q) then Some u else place_of p l (S u)
  end.
Definition roles_of (N : network) (places : list (nat * nat)) : list (list (option nat)) :=
  map (fun l => map (fun i => place_of (fst l, i) places 0) (seq 0 (length (start (snd l)))))
    (combine (seq 0 (length (layers N))) (layers N)).
Definition slot_bounds (N : network) (places : list (nat * nat)) (codes : list (list Q)) : interval :=
  let first p := match nth_error (layers N) (fst p) with Some l => nth (snd p) (start l) 0 | None => 0 end in
  let all := concat codes ++ map first places in
  (Some (fold_left Z.min (map Qfloor all) 0%Z), Some (fold_left Z.max (map Qceiling all) 0%Z)).
Definition check_brackets_stack (t : task) (N : network) (kinds depth : nat) (inc : list (list Z)) (s : list Z)
    (cuts : list (Z * nat)) (shapes : list (list (option form))) (places : list (nat * nat)) (codes : list (list Q)) (most : nat) : bool :=
  Nat.eqb (num_letters N) (2 * kinds) &&
  check (stacks t N kinds depth inc s cuts shapes places (roles_of N places) codes (slot_bounds N places codes)) most.
Theorem check_brackets_stack_sound t N k d inc s cuts shapes places codes most :
  check_brackets_stack t N k d inc s cuts shapes places codes most = true -> correct t N (brackets k (Some d)).
Proof. unfold check_brackets_stack. rewrite andb_true_iff. intros [_ K]. exact (check_sound _ _ K). Qed.
