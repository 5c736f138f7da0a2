(* Finite automata as machines.  The states are looked up in a binary trie (FMapPositive), not in lists; what may
   follow a state is decided by ranks (a state of rank n reaches acceptance in n letters), which are found by an
   unproved search and then checked.  `automaton_ok` says that the quick machine means what the list in Network.v
   means: a letter is allowed if and only if some word of the language continues with it. *)
From Coq Require Import QArith List Bool Arith Lia ZArith NArith Nnat FMapPositive.
From Nerode Require Import Network Related Cover JointClosure.
Import ListNotations.
Set Implicit Arguments.

(* State q has the key q + 1. *)
Definition key_of (q : N) : positive := N.succ_pos q.
Fixpoint fill {A} (l : list A) (k : positive) (m : PositiveMap.t A) : PositiveMap.t A :=
  match l with [] => m | x :: l => fill l (Pos.succ k) (PositiveMap.add k x m) end.
Lemma fill_find A (l : list A) : forall k m j,
  PositiveMap.find j (fill l k m) =
  if (j <? k)%positive then PositiveMap.find j m
  else match nth_error l (Pos.to_nat j - Pos.to_nat k) with Some x => Some x | None => PositiveMap.find j m end.
Proof.
  induction l as [|x l IH]; cbn [fill]; intros k m j.
  - destruct (j <? k)%positive; auto. now destruct (Pos.to_nat j - Pos.to_nat k)%nat.
  - rewrite IH. destruct (Pos.ltb_spec j (Pos.succ k)) as [L|L], (Pos.ltb_spec j k) as [K|K]; try lia.
    + apply PositiveMap.gso. lia.
    + assert (j = k) by lia. subst j. rewrite Nat.sub_diag. cbn. apply PositiveMap.gss.
    + replace (Pos.to_nat j - Pos.to_nat k)%nat with (S (Pos.to_nat j - Pos.to_nat (Pos.succ k))) by lia. cbn.
      destruct (nth_error l _); auto. apply PositiveMap.gso. lia.
Qed.
Lemma fill_nth A (l : list A) q : PositiveMap.find (key_of q) (fill l 1 (PositiveMap.empty A)) = nth_error l (N.to_nat q).
Proof.
  rewrite fill_find. unfold key_of. destruct (Pos.ltb_spec (N.succ_pos q) 1); [lia|].
  replace (Pos.to_nat (N.succ_pos q) - Pos.to_nat 1)%nat with (N.to_nat q) by (destruct q; cbn; lia).
  destruct (nth_error l (N.to_nat q)); auto. apply PositiveMap.gempty.
Qed.

Section Automaton.
Variable D : dfa.
Definition size := length (table D).
Definition lets := seq 0 (letters D).
Definition rows : PositiveMap.t (list N) := fill (table D) 1 (PositiveMap.empty _).
Definition finals : PositiveMap.t unit :=
  fold_right (fun q m => PositiveMap.add (key_of q) tt m) (PositiveMap.empty _) (accepting D).
Definition is_final (f : PositiveMap.t unit) (q : N) : bool := PositiveMap.mem (key_of q) f.

(* Ranks: a search from the accepting states against the arrows. *)
Definition sources : PositiveMap.t (list N) :=
  snd (fold_left (fun p r => (N.succ (fst p), fold_left (fun m q =>
    PositiveMap.add (key_of q) (fst p :: match PositiveMap.find (key_of q) m with Some l => l | None => [] end) m) r (snd p)))
    (table D) (0%N, PositiveMap.empty _)).
Fixpoint ranked (rounds : nat) (src : PositiveMap.t (list N)) (n : N) (layer : list N) (m : PositiveMap.t N) : PositiveMap.t N :=
  match rounds, layer with
  | S rounds, _ :: _ =>
      let p := fold_left (fun p q => fold_left (fun p s =>
                 if PositiveMap.mem (key_of s) (snd p) then p else (s :: fst p, PositiveMap.add (key_of s) n (snd p)))
                 (match PositiveMap.find (key_of q) src with Some l => l | None => [] end) p) layer ([], m) in
      ranked rounds src (N.succ n) (fst p) (snd p)
  | _, _ => m
  end.
Definition ranks : PositiveMap.t N :=
  ranked (S size) sources 1 (accepting D) (fold_right (fun q m => PositiveMap.add (key_of q) 0%N m) (PositiveMap.empty _) (accepting D)).

Definition rank (m : PositiveMap.t N) (q : N) : option N := PositiveMap.find (key_of q) m.
Definition alive (m : PositiveMap.t N) (q : N) : bool := match rank m q with Some _ => true | None => false end.
(* one state: its rank falls along some letter or it accepts; a state without a rank has no way to one with a rank *)
Definition rank_ok (f : PositiveMap.t unit) (m : PositiveMap.t N) (q : N) (r : list N) : bool :=
  match rank m q with
  | Some n => is_final f q || existsb (fun p => match rank m p with Some k => N.ltb k n | None => false end) r
  | None => negb (is_final f q) && forallb (fun p => negb (alive m p)) r
  end.
Fixpoint ranks_ok (f : PositiveMap.t unit) (m : PositiveMap.t N) (q : N) (t : list (list N)) : bool :=
  match t with [] => true | r :: t => rank_ok f m q r && ranks_ok f m (N.succ q) t end.
Definition well_formed : bool :=
  let n := N.of_nat size in
  N.ltb (initial D) n && forallb (fun r => (length r =? letters D) && forallb (fun q => N.ltb q n) r) (table D).

(* The quick machine. *)
Definition quick_go (t : PositiveMap.t (list N)) (q : N) (a : letter) : N :=
  match PositiveMap.find (key_of q) t with Some r => nth a r 0%N | None => 0%N end.
Definition may_follow (t : PositiveMap.t (list N)) (f : PositiveMap.t unit) (m : PositiveMap.t N) (q : N) : answer :=
  map (alive m) (match PositiveMap.find (key_of q) t with Some r => r | None => [] end) ++ [is_final f q].
Definition automaton_of t f m : machine := Machine (initial D) (quick_go t) (may_follow t f m).
Definition automaton : machine := automaton_of rows finals ranks.
Definition checked_automaton : bool := well_formed && ranks_ok finals ranks 0 (table D).

Lemma quick_go_ok q a : quick_go rows q a = go D q a.
Proof.
  unfold quick_go, go, rows. rewrite fill_nth. destruct (nth_error (table D) (N.to_nat q)) as [r|] eqn:E.
  - now rewrite (nth_error_nth _ _ [] E).
  - apply nth_error_None in E. rewrite (nth_overflow (table D)) by auto. now destruct a.
Qed.
Lemma is_final_ok q : is_final finals q = existsb (N.eqb q) (accepting D).
Proof.
  unfold is_final, finals. induction (accepting D) as [|p l IH]; cbn.
  - rewrite PositiveMap.mem_find. now rewrite PositiveMap.gempty.
  - rewrite PositiveMap.mem_find in *. destruct (N.eqb_spec q p) as [->|Ne]; cbn.
    + now rewrite PositiveMap.gss.
    + rewrite PositiveMap.gso; auto. unfold key_of. intros E. apply Ne.
      apply (f_equal Pos.pred_N) in E. now rewrite !N.pos_pred_succ in E.
Qed.

Hypothesis ok : checked_automaton = true.
Lemma formed : (initial D < N.of_nat size)%N /\
  forall q, (q < N.of_nat size)%N -> exists r, nth_error (table D) (N.to_nat q) = Some r /\ length r = letters D /\
    (forall p, In p r -> (p < N.of_nat size)%N) /\ rank_ok finals ranks q r = true.
Proof.
  revert ok. unfold checked_automaton, well_formed. rewrite !andb_true_iff, forallb_forall, N.ltb_lt.
  intros [[I T] R]. split; auto. intros q Q.
  destruct (nth_error (table D) (N.to_nat q)) as [r|] eqn:E; [|apply nth_error_None in E; unfold size in Q; lia].
  exists r. split; auto. pose proof (T r (nth_error_In _ _ E)) as K. rewrite andb_true_iff, Nat.eqb_eq, forallb_forall in K.
  destruct K as [L K]. split; auto. split; [intros p P; now apply N.ltb_lt, K|].
  clear -E R. assert (G : forall t q0 i, ranks_ok finals ranks q0 t = true -> nth_error t i = Some r ->
    rank_ok finals ranks (q0 + N.of_nat i) r = true).
  { induction t as [|x t IH]; intros q0 [|i]; cbn [ranks_ok nth_error]; try discriminate; rewrite andb_true_iff; intros [A B] F.
    - injection F as ->. now rewrite N.add_0_r.
    - specialize (IH _ _ B F). now replace (q0 + N.of_nat (S i))%N with (N.succ q0 + N.of_nat i)%N by lia. }
  specialize (G _ _ _ R E). now rewrite N2Nat.id in G.
Qed.
Lemma go_in q a : (q < N.of_nat size)%N -> (a < letters D)%nat -> (go D q a < N.of_nat size)%N.
Proof.
  intros Q A. destruct (proj2 formed q Q) as (r & E & L & B & _). unfold go. rewrite (nth_error_nth _ _ [] E).
  apply B, nth_In. lia.
Qed.
Lemma reach w : forall q, (q < N.of_nat size)%N -> over (letters D) w -> (fold_left (go D) w q < N.of_nat size)%N.
Proof. induction w; cbn; intros q Q Ov; auto. inversion Ov; subst. apply IHw; auto using go_in. Qed.
Definition can (q : N) : Prop := exists u, over (letters D) u /\ accepts_from D q u = true.

Lemma alive_sound n : forall q k, (N.to_nat k < n)%nat -> (q < N.of_nat size)%N -> rank ranks q = Some k -> can q.
Proof.
  induction n as [|n IH]; [lia|]. intros q k Kn Q Rq. destruct (proj2 formed q Q) as (r & E & L & B & R).
  unfold rank_ok in R. rewrite Rq, orb_true_iff, existsb_exists in R. destruct R as [F|(p & I & Rp)].
  - exists []. split; [constructor|]. unfold accepts_from. cbn. now rewrite <- is_final_ok.
  - destruct (rank ranks p) as [j|] eqn:Ep; [|discriminate]. apply N.ltb_lt in Rp.
    destruct (IH p j) as (u & Ou & Au); [lia|now apply B|auto|].
    destruct (In_nth _ _ 0%N I) as (a & La & Ea). exists (a :: u). split; [constructor; [lia|auto]|].
    unfold accepts_from in *. cbn. unfold go at 2. now rewrite (nth_error_nth _ _ [] E), Ea.
Qed.
Lemma alive_complete u : forall q, (q < N.of_nat size)%N -> over (letters D) u -> accepts_from D q u = true -> alive ranks q = true.
Proof.
  induction u as [|a u IH]; intros q Q Ov A; destruct (proj2 formed q Q) as (r & E & L & B & R); unfold alive, rank_ok in *;
    destruct (rank ranks q); auto; rewrite andb_true_iff, negb_true_iff, forallb_forall in R; destruct R as [F R].
  - unfold accepts_from in A. cbn in A. now rewrite <- is_final_ok, F in A.
  - inversion Ov as [|? ? La Ou]; subst. assert (G : go D q a = nth a r 0%N) by (unfold go; now rewrite (nth_error_nth _ _ [] E)).
    specialize (IH (go D q a) (go_in Q La) Ou A). assert (In (go D q a) r) as I by (rewrite G; apply nth_In; lia).
    specialize (R _ I). unfold alive in *. destruct (rank ranks (go D q a)); discriminate.
Qed.
Lemma alive_ok q : (q < N.of_nat size)%N -> (alive ranks q = true <-> can q).
Proof.
  intros Q. split.
  - unfold alive. destruct (rank ranks q) as [k|] eqn:E; [|discriminate]. intros _. eapply alive_sound; eauto.
  - intros (u & Ou & Au). eapply alive_complete; eauto.
Qed.
Lemma after_ok w : after automaton w = fold_left (go D) w (initial D).
Proof.
  unfold after. cbn. generalize (initial D). induction w; cbn; auto. intros q. now rewrite quick_go_ok.
Qed.

(* What the quick machine allows, in words of the language alone. *)
Theorem automaton_ok w : over (letters D) w -> says_next D w (allowed automaton (after automaton w)).
Proof.
  intros Ov. rewrite after_ok. set (q := fold_left (go D) w (initial D)).
  assert (Q : (q < N.of_nat size)%N) by (apply reach; auto; apply formed).
  destruct (proj2 formed q Q) as (r & E & L & B & _). cbn. unfold may_follow, rows. rewrite fill_nth, E.
  split.
  - intros a A. rewrite app_nth1 by (now rewrite map_length, L).
    rewrite nth_indep with (d' := alive ranks 0%N) by (now rewrite map_length, L). rewrite map_nth.
    assert (G : go D q a = nth a r 0%N) by (unfold go; now rewrite (nth_error_nth _ _ [] E)).
    rewrite <- G, alive_ok by auto using go_in. unfold can, accepts, accepts_from.
    split; intros (u & Ou & Au); exists u; split; auto; rewrite fold_left_app in *; exact Au.
  - rewrite app_nth2 by (rewrite map_length; lia). rewrite map_length, L, Nat.sub_diag. cbn. apply is_final_ok.
Qed.
Lemma last_ok w : over (letters D) w -> last (allowed automaton (after automaton w)) false = accepts D w.
Proof.
  intros Ov. rewrite after_ok. cbn. unfold may_follow. rewrite last_last. apply is_final_ok.
Qed.
Lemma continues_valid w : over (letters D) w -> continues D w -> valid automaton (first automaton) w.
Proof.
  intros Ov (u & Ou & Au). unfold accepts in Au. pose proof (proj1 formed) as I. cbn. revert I Au. generalize (initial D).
  induction w as [|a w IH]; intros q Q Au; [exact Logic.I|]. inversion Ov as [|? ? La Ow]; subst.
  destruct (proj2 formed q Q) as (r & E & L & B & _).
  assert (G : go D q a = nth a r 0%N) by (unfold go; now rewrite (nth_error_nth _ _ [] E)). cbn. split.
  - unfold may_follow, rows. rewrite fill_nth, E. rewrite app_nth1 by (rewrite map_length; lia).
    rewrite nth_indep with (d' := alive ranks 0%N) by (rewrite map_length; lia). rewrite map_nth, <- G.
    apply alive_complete with (w ++ u); auto using go_in. apply Forall_app; auto.
  - rewrite quick_go_ok. apply IH; auto using go_in.
Qed.
Theorem automaton_claim_ok V (A : arithmetic V) t N : num_letters N = letters D ->
  correct_in A t N automaton -> automaton_claim A t N D.
Proof.
  intros El K w Ov. assert (Wi : t <> ValidPrefixes \/ continues D w -> within t automaton (first automaton) w).
  { intros [Ne|Co]; destruct t; cbn; auto; [congruence|]. now apply continues_valid. }
  destruct t; try intros Co; destruct (K w) as (x & Ex & Rx); try (rewrite El; exact Ov); try (apply Wi; auto; left; discriminate);
    exists x; split; auto; cbn [right] in Rx.
  - rewrite <- Rx. now apply automaton_ok.
  - rewrite <- Rx. now apply automaton_ok.
  - rewrite <- Rx. now apply last_ok.
Qed.
Lemma automaton_right_ok t w x : over (letters D) w -> right_after t automaton w x -> automaton_right t D w x.
Proof.
  intros Ov R. unfold right_after in R. destruct t; cbn [automaton_right within right] in *.
  - rewrite <- (R I). now apply automaton_ok.
  - intros Co. rewrite <- (R (continues_valid Ov Co)). now apply automaton_ok.
  - rewrite <- (R I). now apply last_ok.
Qed.
End Automaton.

Definition state_hash (q : N) : Z := Z.of_N q.
Lemma state_eqb_ok x y : N.eqb x y = true -> x = y.
Proof. apply N.eqb_eq. Qed.
Definition joint_dfa t N D : cover rational t N (automaton D) :=
  @joint Q Q fast rational Qeq fast_ok qeqb mix qeqb_ok t N (automaton D) N.eqb state_hash state_eqb_ok.
Definition check_dfa (t : task) (N : network) (D : dfa) (most : nat) : bool :=
  (num_letters N =? letters D) && checked_automaton D && check (joint_dfa t N D) most.
Theorem check_dfa_sound t N D most : check_dfa t N D most = true -> automaton_claim rational t N D.
Proof.
  unfold check_dfa. rewrite !andb_true_iff, Nat.eqb_eq. intros [[E W] K].
  apply automaton_claim_ok; auto. eapply check_sound, K.
Qed.

(* Brackets. *)
Definition conf_eqb (x y : option (list nat)) : bool :=
  match x, y with Some s, Some s' => listb Nat.eqb s s' | None, None => true | _, _ => false end.
Lemma conf_eqb_ok x y : conf_eqb x y = true -> x = y.
Proof.
  destruct x, y; cbn; try discriminate; auto. intros H. f_equal. revert H. apply listb_ok.
  intros; now apply Nat.eqb_eq.
Qed.
Definition conf_hash (x : option (list nat)) : Z :=
  match x with None => 1%Z | Some s => fold_left (fun h k => Z.land (h * 3 + Z.of_nat k) 65535) s 2%Z end.
Definition check_brackets (t : task) (N : network) (kinds : nat) (depth : option nat) (most : nat) : bool :=
  (num_letters N =? 2 * kinds) &&
  check (@joint Q Q fast rational Qeq fast_ok qeqb mix qeqb_ok t N (brackets kinds depth) conf_eqb conf_hash conf_eqb_ok) most.
Theorem check_brackets_sound t N k d most : check_brackets t N k d most = true -> correct t N (brackets k d).
Proof. unfold check_brackets. rewrite andb_true_iff. intros [_ K]. eapply check_sound, K. Qed.
