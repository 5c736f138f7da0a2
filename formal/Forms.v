(* Affine forms over unknown numbers, of which a region knows an interval each, and one step of a network on forms:
   what it decides (signs, answers) holds for all numbers of the region. *)
From Coq Require Import QArith Qreduction ZArith List Bool Lia Lqa.
From Nerode Require Import Network Related JointClosure.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

(* ---- forms ---- *)
Definition form := (Q * list Q)%type.
Fixpoint linear (cs : list Q) (n : list Q) : Q :=
  match cs, n with c :: cs, z :: n => c * z + linear cs n | _, _ => 0 end.
Definition eval (f : form) (n : list Q) : Q := fst f + linear (snd f) n.

Fixpoint plus (l m : list Q) : list Q :=
  match l, m with
  | [], _ => m
  | _, [] => l
  | c :: l, d :: m => match fadd c d, plus l m with Qmake 0 _, [] => [] | e, r => e :: r end
  end.
Definition form_add (f g : form) : form := (fadd (fst f) (fst g), plus (snd f) (snd g)).
Definition form_scale (c : Q) (f : form) : form :=
  match c with Qmake 0 _ => (0, []) | _ => (fmul c (fst f), map (fmul c) (snd f)) end.

Lemma plus_ok n : forall l m, linear (plus l m) n == linear l n + linear m n.
Proof.
  induction n as [|z n IH]; intros [|c l] [|d m]; cbn; try ring.
  - destruct (fadd c d) as [[|?|?] ?], (plus l m); cbn; ring.
  - specialize (IH l m). pose proof (fadd_ok c d) as E.
    destruct (fadd c d) as [[|a|a] e] eqn:F.
    + assert (Z0' : c + d == 0) by (rewrite <- E; reflexivity).
      destruct (plus l m) eqn:G; cbn in *.
      * setoid_replace (c * z + linear l n + (d * z + linear m n))
          with ((c + d) * z + (linear l n + linear m n)) by ring. rewrite Z0', <- IH. destruct n; cbn; ring.
      * rewrite IH. setoid_replace (0 # e) with (c + d) by (rewrite <- E; reflexivity). ring.
    + cbn. rewrite IH, E. ring.
    + cbn. rewrite IH, E. ring.
Qed.
Lemma map_linear c l : forall n, linear (map (fmul c) l) n == c * linear l n.
Proof. induction l; intros [|z n]; cbn; try ring. rewrite IHl, fmul_ok. ring. Qed.
Lemma form_add_ok f g n : eval (form_add f g) n == eval f n + eval g n.
Proof. unfold eval, form_add; cbn. rewrite plus_ok, fadd_ok. ring. Qed.
Lemma form_scale_ok c f n : eval (form_scale c f) n == c * eval f n.
Proof.
  unfold form_scale. destruct c as [[|a|a] d] eqn:E; unfold eval; cbn [fst snd].
  - cbn. setoid_replace (0 # d) with 0 by reflexivity. destruct n; cbn; ring.
  - rewrite map_linear, fmul_ok. ring.
  - rewrite map_linear, fmul_ok. ring.
Qed.

(* ---- regions ---- *)
Definition interval := (option Z * option Z)%type.
Definition within_i (z : Q) (i : interval) : Prop :=
  match fst i with Some l => inject_Z l <= z | None => True end /\ match snd i with Some u => z <= inject_Z u | None => True end.
Definition region := list interval.
Definition inreg (n : list Q) (r : region) : Prop := Forall2 within_i n r.

Fixpoint upper (cs : list Q) (r : region) : option Q :=
  match cs, r with
  | c :: cs, i :: r =>
      s <- upper cs r ;;
      match Qnum c with
      | Z0 => Some s
      | Zpos _ => u <- snd i ;; Some (c * inject_Z u + s)
      | Zneg _ => l <- fst i ;; Some (c * inject_Z l + s)
      end
  | _, _ => Some 0
  end.
Definition upper_form (f : form) (r : region) : option Q := u <- upper (snd f) r ;; Some (fst f + u).
Definition at_most (f : form) (r : region) (c : Q) : bool :=
  match upper_form f r with Some u => Qle_bool u c | None => false end.

Lemma upper_ok n r : inreg n r -> forall cs u, upper cs r = Some u -> linear cs n <= u.
Proof.
  induction 1 as [|z i n r [L U] ? IH]; intros [|c cs] u; cbn; try (intros E; injection E as <-; apply Qle_refl).
  destruct (upper cs r) as [s|] eqn:E; cbn; [|discriminate]. specialize (IH _ _ E).
  destruct c as [[|a|a] d]; cbn [Qnum].
  - intros E'; injection E' as <-. setoid_replace ((0 # d) * z + linear cs n) with (linear cs n); auto.
    setoid_replace (0 # d) with 0 by reflexivity. ring.
  - destruct (snd i) as [v|]; cbn; [|discriminate]. intros E'; injection E' as <-.
    apply Qplus_le_compat; auto. rewrite !(Qmult_comm (Zpos a # d)). apply Qmult_le_compat_r; [exact U|discriminate].
  - destruct (fst i) as [v|]; cbn; [|discriminate]. intros E'; injection E' as <-.
    apply Qplus_le_compat; auto. setoid_replace (Zneg a # d) with (- (Zpos a # d)) by reflexivity.
    setoid_replace (- (Zpos a # d) * z) with (- (z * (Zpos a # d))) by ring.
    setoid_replace (- (Zpos a # d) * inject_Z v) with (- (inject_Z v * (Zpos a # d))) by ring.
    apply Qopp_le_compat, Qmult_le_compat_r; [exact L|discriminate].
Qed.
Lemma at_most_ok f r c n : at_most f r c = true -> inreg n r -> eval f n <= c.
Proof.
  unfold at_most, upper_form. destruct (upper (snd f) r) as [u|] eqn:E; cbn; [|discriminate].
  rewrite Qle_bool_iff. intros L I. eapply Qle_trans; [|exact L]. unfold eval.
  apply Qplus_le_compat; [apply Qle_refl|]. eapply upper_ok; eauto.
Qed.

(* strictly above c on the whole region *)
Definition exceeds (f : form) (r : region) (c : Q) : bool :=
  match upper_form (form_scale (-1) f) r with Some u => negb (Qle_bool (- c) u) | None => false end.
Lemma exceeds_ok f r c n : exceeds f r c = true -> inreg n r -> c < eval f n.
Proof.
  unfold exceeds, upper_form. destruct (upper _ r) as [u|] eqn:E; cbn [bind]; [|discriminate].
  intros K I. apply negb_true_iff in K. assert (K' : ~ (- c <= fst (form_scale (-1) f) + u)).
  { rewrite <- Qle_bool_iff, K. discriminate. }
  apply Qnot_le_lt in K'. pose proof (upper_ok I _ E) as U. pose proof (form_scale_ok (-1) f n) as S.
  unfold eval in S at 1. lra.
Qed.

Definition form_above (r : region) (f : form) (c : Q) : option bool :=
  match f with
  | (d, []) => Some (negb (Qle_bool d c))
  | _ => if at_most f r c then Some false else if exceeds f r c then Some true else None
  end.
Definition forms (r : region) : arithmetic form :=
  Arithmetic (fun c => Some (Qred c, [])) (fun b l => Some (fold_right (fun p s => form_add (form_scale (fst p) (snd p)) s) (Qred b, []) l))
      (fun f g w => match f, g with
                    | (c, []), _ => Some (form_add (form_scale c g) w)
                    | _, (d, []) => Some (form_add (form_scale d f) w)
                    | _, _ => None end)
      (fun f => match f with
                | (c, []) => Some (if Qle_bool c 0 then (0, []) else f)
                | _ => if at_most f r 0 then Some (0, []) else if at_most (form_scale (-1) f) r 0 then Some f else None end)
      (form_above r) (fun f g => form_above r (form_add f (form_scale (-1) g)) 0) (@quick_entry form).

Definition means (n : list Q) (f : form) (q : Q) : Prop := eval f n == q.
Lemma eval_const c n : eval (c, []) n == c.
Proof. unfold eval; cbn. destruct n; cbn; ring. Qed.

Lemma relu_le q : q <= 0 -> (if Qle_bool q 0 then 0 else q) == 0.
Proof. intros. apply Qle_bool_iff in H. now rewrite H. Qed.
Lemma relu_ge q : 0 <= q -> (if Qle_bool q 0 then 0 else q) == q.
Proof. intros. destruct (Qle_bool q 0) eqn:E; [|reflexivity]. apply Qle_bool_iff in E. lra. Qed.

Lemma form_above_ok r n f w d : inreg n r -> eval f n == w ->
  orel eq (form_above r f d) (Some (negb (Qle_bool w d))).
Proof.
  intros I E. destruct f as [c [|x l]]; unfold form_above.
  - rewrite eval_const in E. apply orel_some. now rewrite (Qle_bool_proper _ E).
  - destruct (at_most _ r d) eqn:A; [|destruct (exceeds _ r d) eqn:B; [|apply orel_none]]; apply orel_some.
    + pose proof (at_most_ok _ _ A I) as J. rewrite E in J. apply Qle_bool_iff in J. now rewrite J.
    + pose proof (exceeds_ok _ _ B I) as J. rewrite E in J. destruct (Qle_bool w d) eqn:L; auto.
      apply Qle_bool_iff in L. lra.
Qed.
Lemma Qle_bool_minus x y : Qle_bool (x + -1 * y) 0 = Qle_bool x y.
Proof. apply eq_true_iff_eq. rewrite !Qle_bool_iff. split; intros; lra. Qed.
Lemma forms_ok r n : inreg n r -> related (forms r) rational (means n).
Proof.
  intros I. split; unfold means; cbn [forms rational const sum gated relu above greater].
  - intros. apply orel_some. rewrite eval_const. apply Qred_correct.
  - intros b l m L. apply orel_some. induction L as [|[c f] [d w] l m [E F] ? IH]; cbn [fold_right fst snd] in *.
    + rewrite eval_const. apply Qred_correct.
    + rewrite form_add_ok, form_scale_ok, IH, E, F. reflexivity.
  - intros [c [|x l]] w [d [|y m]] w' z z' E E' E''; cbv beta iota; try apply orel_none; apply orel_some;
      rewrite form_add_ok, form_scale_ok; rewrite ?eval_const in *; rewrite <- E, <- E', <- E''; ring.
  - intros [c [|x l]] w E; cbv beta iota.
    + rewrite eval_const in E. apply orel_some. rewrite <- (Qle_bool_proper _ E).
      destruct (Qle_bool c 0); [apply eval_const|]. now rewrite eval_const.
    + destruct (at_most _ r 0) eqn:A; [|destruct (at_most (form_scale _ _) r 0) eqn:B; [|apply orel_none]]; apply orel_some.
      * rewrite eval_const. symmetry. apply relu_le. rewrite <- E. eapply at_most_ok; eauto.
      * pose proof (at_most_ok _ _ B I) as J. rewrite form_scale_ok, E in J. rewrite E. symmetry. apply relu_ge. lra.
  - intros f w d E. now apply (form_above_ok _ I).
  - intros f w g x E F. rewrite <- Qle_bool_minus. apply (form_above_ok _ I). now rewrite form_add_ok, form_scale_ok, E, F.
  - now apply quick_rel.
Qed.

(* Equality of cells. *)
Definition form_eqb (f g : form) : bool := qeqb (fst f) (fst g) && listb qeqb (snd f) (snd g).
Lemma form_eqb_ok f g : form_eqb f g = true -> f = g.
Proof.
  destruct f, g. unfold form_eqb; cbn. rewrite andb_true_iff. intros [X Y].
  apply qeqb_ok in X. apply listb_ok in Y; [now subst|apply qeqb_ok].
Qed.
Definition bound_eqb (x y : option Z) : bool :=
  match x, y with Some a, Some b => Z.eqb a b | None, None => true | _, _ => false end.
Definition interval_eqb (i j : interval) : bool := bound_eqb (fst i) (fst j) && bound_eqb (snd i) (snd j).
Lemma interval_eqb_ok i j : interval_eqb i j = true -> i = j.
Proof.
  destruct i as [i1 i2], j as [j1 j2]. unfold interval_eqb, bound_eqb; cbn. rewrite andb_true_iff.
  destruct i1, j1, i2, j2; intros [X Y]; try discriminate; try (apply Z.eqb_eq in X); try (apply Z.eqb_eq in Y); now subst.
Qed.
