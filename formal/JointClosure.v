(* Joint closure: cells with one exact number per coordinate and one configuration of the language.  `fast` is the
   arithmetic of the walk: fractions in lowest terms, quick where they are whole. *)
From Coq Require Import QArith Qreduction ZArith List Bool.
From Nerode Require Import Network Related Cover.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

(* The same numbers in lowest terms, quick where they are whole. *)
Definition fadd (x y : Q) : Q :=
  match x, y with
  | Qmake a 1, Qmake b 1 => match a with Z0 => y | _ => Qmake (a + b) 1 end
  | _, _ => Qred (x + y)
  end.
Definition fmul (x y : Q) : Q :=
  match x, y with
  | Qmake a 1, Qmake b 1 =>
      match a with Z0 => x | Zpos 1 => y | _ => match b with Z0 => y | Zpos 1 => x | _ => Qmake (a * b) 1 end end
  | _, _ => Qred (x * y)
  end.
Definition fast : arithmetic Q :=
  Arithmetic (fun c => Some (Qred c)) (fun b l => Some (fold_right (fun p s => fadd (fmul (fst p) (snd p)) s) (Qred b) l))
      (fun g h w => Some (fadd (fmul g h) w))
      (fun x => Some (if Qle_bool x 0 then 0 else x)) (fun x c => Some (negb (Qle_bool x c)))
      (fun x y => Some (negb (Qle_bool x y))) (@quick_entry Q).

Lemma fadd_ok x y : fadd x y == x + y.
Proof.
  destruct x as [a [d|d|]], y as [b [e|e|]]; unfold fadd; rewrite ?Qred_correct; try reflexivity.
  destruct a; unfold Qeq, Qplus; cbn [Qnum Qden]; change (1 * 1)%positive with 1%positive; ring.
Qed.
Lemma fmul_ok x y : fmul x y == x * y.
Proof.
  destruct x as [a [d|d|]], y as [b [e|e|]]; unfold fmul; rewrite ?Qred_correct; try reflexivity.
  destruct a as [|[?|?|]|?], b as [|[?|?|]|?]; unfold Qeq, Qmult; cbn [Qnum Qden]; change (1 * 1)%positive with 1%positive; ring.
Qed.
Lemma Qle_bool_equal x y x' y' : x == y -> x' == y' -> Qle_bool x x' = Qle_bool y y'.
Proof.
  intros E F. apply eq_true_iff_eq. rewrite !Qle_bool_iff. now rewrite E, F.
Qed.
Lemma Qle_bool_proper x y c : x == y -> Qle_bool x c = Qle_bool y c.
Proof. intros. now apply Qle_bool_equal. Qed.
Lemma fast_ok : related fast rational Qeq.
Proof.
  split; cbn; intros.
  - apply orel_some, Qred_correct.
  - apply orel_some. induction H as [|[c v] [d w] l m [E F] ? IH]; cbn in *; [apply Qred_correct|].
    rewrite fadd_ok, fmul_ok, IH, E, F. reflexivity.
  - apply orel_some. now rewrite fadd_ok, fmul_ok, H, H0, H1.
  - apply orel_some. rewrite (Qle_bool_proper _ H). destruct (Qle_bool w 0); [reflexivity|assumption].
  - apply orel_some. now rewrite (Qle_bool_proper _ H).
  - apply orel_some. now rewrite (Qle_bool_equal H H0).
  - now apply quick_rel.
Qed.

(* Equality and hashes of cells. *)
Definition qeqb (x y : Q) : bool := Z.eqb (Qnum x) (Qnum y) && Pos.eqb (Qden x) (Qden y).
Fixpoint listb {A} (f : A -> A -> bool) (l m : list A) : bool :=
  match l, m with [], [] => true | x :: l, y :: m => f x y && listb f l m | _, _ => false end.
Lemma listb_ok {A} (f : A -> A -> bool) : (forall x y, f x y = true -> x = y) ->
  forall l m, listb f l m = true -> l = m.
Proof.
  intros K. induction l; destruct m; cbn; try discriminate; auto.
  rewrite andb_true_iff. intros [? ?]. f_equal; auto.
Qed.
Lemma qeqb_ok x y : qeqb x y = true -> x = y.
Proof.
  destruct x, y. unfold qeqb; cbn. rewrite andb_true_iff, Z.eqb_eq, Pos.eqb_eq. now intros [-> ->].
Qed.
Definition mix (h : Z) (q : Q) : Z := Z.land (h * 37 + Qnum q * 5 + Zpos (Qden q)) 262143.
Definition key (z : Z) : positive := match z with Zpos p => p | _ => 1%positive end.

(* Cells with one value per coordinate, in any arithmetic O that is related to the one that the claim is about. *)
Section Joint.
Variables (V W : Type) (O : arithmetic V) (A : arithmetic W) (R : V -> W -> Prop).
Hypothesis OA : related O A R.
Variables (veqb : V -> V -> bool) (vmix : Z -> V -> Z).
Hypothesis veqb_ok : forall x y, veqb x y = true -> x = y.
Variables (t : task) (N : network) (M : machine).
Variables (conf_eqb : conf M -> conf M -> bool) (conf_hash : conf M -> Z).
Hypothesis conf_eqb_ok : forall x y, conf_eqb x y = true -> x = y.

Definition point := (states V * conf M)%type.
Definition point_holds (c : point) (hs : states W) (q : conf M) : Prop :=
  Forall2 (Forall2 R) (fst c) hs /\ snd c = q.
Definition point_images (c : point) (a : letter) : option (list point) :=
  if skips t (allowed M (snd c)) a then Some []
  else p <- net_step O N (fst c) a ;;
       let q := next M (snd c) a in
       if rightb t (allowed M q) (snd p) then Some [(fst p, q)] else None.
Definition point_eqb (c d : point) : bool :=
  conf_eqb (snd c) (snd d) && listb (listb veqb) (fst c) (fst d).
Definition point_hash (c : point) : positive :=
  key (fold_left (fun h l => fold_left vmix l h) (fst c) (conf_hash (snd c))).

Definition joint : cover A t N M.
Proof.
  refine (@Cover W A t N M point point_holds (hs <- start_states O N ;; Some (hs, first M)) point_images _ _ point_eqb _ point_hash).
  - intros c. destruct (start_states O N) as [hs|] eqn:E; cbn; [|discriminate]. intros F; injection F as <-.
    destruct (start_related OA N E) as (hs' & E' & L). exists hs'. split; auto. split; auto.
  - intros [v q'] hs q a cs [Hv Hq] Sk Im. cbn in *. subst q'. unfold point_images in Im. cbn in Im.
    rewrite Sk in Im. destruct (net_step O N v a) as [[v' x]|] eqn:E; [|discriminate]. cbn in Im.
    destruct (rightb t _ x) eqn:Rx; [|discriminate]. injection Im as <-.
    destruct (step_related OA N a Hv E) as ([hs' y] & -> & Hs & Hx). cbn in *. subst y.
    exists hs', x. repeat split; auto using rightb_ok. eexists; split; [left; reflexivity|]. split; auto.
  - intros [v q] [v' q']. unfold point_eqb; cbn. rewrite andb_true_iff. intros [Eq El].
    apply conf_eqb_ok in Eq. apply listb_ok in El; [|apply listb_ok, veqb_ok]. now subst.
Defined.
End Joint.
