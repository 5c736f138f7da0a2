(* Affine forms with positive parts: where a region does not decide the sign of a form f, max(f, 0) is kept as it is,
   so that it may cancel later.  Only forms without such parts may be left in the states. *)
From Coq Require Import QArith Qreduction ZArith List Bool Lqa.
From Nerode Require Import Network Related JointClosure Forms.
Import ListNotations.
Set Implicit Arguments.
Local Open Scope Q_scope.

Definition positive_part (q : Q) : Q := if Qle_bool q 0 then 0 else q.
Definition pform := (form * list (form * Q))%type.        (* a form, and multiples of max(f, 0) *)
Fixpoint parts (l : list (form * Q)) (n : list Q) : Q :=
  match l with [] => 0 | p :: l => snd p * positive_part (eval (fst p) n) + parts l n end.
Definition peval (x : pform) (n : list Q) : Q := eval (fst x) n + parts (snd x) n.
Definition pmeans (n : list Q) (x : pform) (q : Q) : Prop := peval x n == q.

Fixpoint part_add (f : form) (c : Q) (l : list (form * Q)) : list (form * Q) :=
  match l with
  | [] => [(f, c)]
  | p :: l => if form_eqb f (fst p) then match fadd c (snd p) with Qmake 0 _ => l | e => (fst p, e) :: l end
              else p :: part_add f c l
  end.
Definition padd (x y : pform) : pform :=
  (form_add (fst x) (fst y), fold_right (fun p s => part_add (fst p) (snd p) s) (snd y) (snd x)).
Definition pscale (c : Q) (x : pform) : pform :=
  (form_scale c (fst x), match c with Qmake 0 _ => [] | _ => map (fun p => (fst p, fmul c (snd p))) (snd x) end).

Lemma part_add_ok f c n l : parts (part_add f c l) n == c * positive_part (eval f n) + parts l n.
Proof.
  induction l as [|[g d] l IH]; cbn [part_add parts fst snd]; [reflexivity|].
  destruct (form_eqb f g) eqn:E; [|cbn [parts fst snd]; rewrite IH; ring]. apply form_eqb_ok in E. subst g.
  pose proof (fadd_ok c d) as F. destruct (fadd c d) as [[|a|a] e]; cbn [parts fst snd].
  - setoid_replace (c * positive_part (eval f n) + (d * positive_part (eval f n) + parts l n))
      with ((c + d) * positive_part (eval f n) + parts l n) by ring.
    rewrite <- F. setoid_replace (0 # e) with 0 by reflexivity. ring.
  - rewrite F. ring.
  - rewrite F. ring.
Qed.
Lemma padd_ok x y n : peval (padd x y) n == peval x n + peval y n.
Proof.
  unfold peval, padd. cbn [fst snd]. rewrite form_add_ok.
  assert (E : forall l m, parts (fold_right (fun p s => part_add (fst p) (snd p) s) m l) n == parts l n + parts m n).
  { induction l as [|p l IH]; intros m; cbn [fold_right parts]; [ring|]. rewrite part_add_ok, IH. ring. }
  rewrite E. ring.
Qed.
Lemma pscale_ok c x n : peval (pscale c x) n == c * peval x n.
Proof.
  unfold peval, pscale. cbn [fst snd]. rewrite form_scale_ok.
  assert (E : forall l, parts (map (fun p => (fst p, fmul c (snd p))) l) n == c * parts l n).
  { induction l as [|p l IH]; cbn [map parts fst snd]; [ring|]. rewrite fmul_ok, IH. ring. }
  destruct c as [[|a|a] d]; cbn [parts]; rewrite ?E; try ring. setoid_replace (0 # d) with 0 by reflexivity. ring.
Qed.

(* ---- bounds on a region ---- *)
Lemma positive_le x y : x <= y -> positive_part x <= positive_part y.
Proof.
  intros L. unfold positive_part. destruct (Qle_bool x 0) eqn:A, (Qle_bool y 0) eqn:B; rewrite ?Qle_bool_iff in *; try lra.
  assert (~ y <= 0) by (rewrite <- Qle_bool_iff, B; discriminate). lra.
Qed.
Lemma positive_0 x : 0 <= positive_part x.
Proof.
  unfold positive_part. destruct (Qle_bool x 0) eqn:A; [lra|].
  assert (~ x <= 0) by (rewrite <- Qle_bool_iff, A; discriminate). lra.
Qed.
Fixpoint parts_upper (l : list (form * Q)) (r : region) : option Q :=
  match l with
  | [] => Some 0
  | (f, c) :: l =>
      s <- parts_upper l r ;;
      if Qle_bool 0 c then u <- upper_form f r ;; Some (c * positive_part u + s)
      else Some (match upper_form (form_scale (-1) f) r with Some u => c * positive_part (- u) + s | None => s end)
  end.
Definition pupper (x : pform) (r : region) : option Q :=
  u <- upper_form (fst x) r ;; s <- parts_upper (snd x) r ;; Some (u + s).
Lemma upper_form_ok f r n u : inreg n r -> upper_form f r = Some u -> eval f n <= u.
Proof.
  intros I. unfold upper_form. destruct (upper (snd f) r) as [v|] eqn:E; cbn [bind]; [|discriminate]. intros H; injection H as <-.
  unfold eval. apply Qplus_le_compat; [apply Qle_refl|]. eapply upper_ok; eauto.
Qed.
Lemma parts_upper_ok r n : inreg n r -> forall l u, parts_upper l r = Some u -> parts l n <= u.
Proof.
  intros I. induction l as [|[f c] l IH]; intros u; cbn [parts_upper parts fst snd]; [intros H; injection H as <-; lra|].
  destruct (parts_upper l r) as [s|]; cbn [bind]; [|discriminate]. specialize (IH _ eq_refl).
  destruct (Qle_bool 0 c) eqn:C.
  - apply Qle_bool_iff in C. destruct (upper_form f r) as [v|] eqn:E; cbn [bind]; [|discriminate]. intros H; injection H as <-.
    pose proof (positive_le (upper_form_ok _ I E)) as P. apply Qplus_le_compat; auto.
    rewrite !(Qmult_comm c). now apply Qmult_le_compat_r.
  - assert (C' : ~ 0 <= c) by (rewrite <- Qle_bool_iff, C; discriminate). apply Qnot_le_lt in C'.
    assert (M : forall b, b <= positive_part (eval f n) -> c * positive_part (eval f n) <= c * b).
    { intros b B. assert (T : (- c) * b <= (- c) * positive_part (eval f n)).
      { rewrite !(Qmult_comm (- c)). apply Qmult_le_compat_r; [exact B|lra]. } lra. }
    destruct (upper_form (form_scale (-1) f) r) as [v|] eqn:E; intros H; apply (f_equal (fun o => match o with Some x => x | None => 0 end)) in H; cbv beta iota in H; subst u.
    + pose proof (upper_form_ok _ I E) as L. rewrite form_scale_ok in L.
      assert (P : positive_part (- v) <= positive_part (eval f n)) by (apply positive_le; lra). apply Qplus_le_compat; [exact (M _ P)|exact IH].
    + specialize (M 0 (positive_0 _)). rewrite Qmult_0_r in M. setoid_replace s with (0 + s) by ring. now apply Qplus_le_compat.
Qed.
Definition pat_most (x : pform) (r : region) (c : Q) : bool := match pupper x r with Some u => Qle_bool u c | None => false end.
Lemma pat_most_ok x r c n : pat_most x r c = true -> inreg n r -> peval x n <= c.
Proof.
  unfold pat_most, pupper. destruct (upper_form (fst x) r) as [u|] eqn:E; cbn [bind]; [|discriminate].
  destruct (parts_upper (snd x) r) as [s|] eqn:F; cbn [bind]; [|discriminate]. rewrite Qle_bool_iff. intros L I.
  pose proof (upper_form_ok _ I E). pose proof (parts_upper_ok I _ F). unfold peval. lra.
Qed.
Definition pexceeds (x : pform) (r : region) (c : Q) : bool :=
  match pupper (pscale (-1) x) r with Some u => negb (Qle_bool (- c) u) | None => false end.
Lemma pexceeds_ok x r c n : pexceeds x r c = true -> inreg n r -> c < peval x n.
Proof.
  unfold pexceeds. destruct (pupper (pscale (-1) x) r) as [u|] eqn:E; [|discriminate]. intros K I. apply negb_true_iff in K.
  assert (K' : ~ (- c <= u)) by (rewrite <- Qle_bool_iff, K; discriminate).
  assert (P : peval (pscale (-1) x) n <= u).
  { apply (@pat_most_ok _ r); auto. unfold pat_most. rewrite E. apply Qle_bool_iff. lra. }
  rewrite pscale_ok in P. lra.
Qed.

(* ---- the arithmetic ---- *)
Definition plain_form (f : form) : pform := (f, []).
Definition pabove (r : region) (x : pform) (c : Q) : option bool :=
  match snd x with
  | [] => form_above r (fst x) c
  | _ => if pat_most x r c then Some false else if pexceeds x r c then Some true else None
  end.
Definition pforms (r : region) : arithmetic pform :=
  Arithmetic (fun c => Some (plain_form (Qred c, [])))
      (fun b l => Some (fold_right (fun p s => padd (pscale (fst p) (snd p)) s) (plain_form (Qred b, [])) l))
      (fun x y w => match x, y with
                    | ((c, []), []), _ => Some (padd (pscale c y) w)
                    | _, ((d, []), []) => Some (padd (pscale d x) w)
                    | _, _ => None end)
      (fun x => match snd x with
                | [] => match relu (forms r) (fst x) with Some f => Some (plain_form f) | None => Some ((0, []), [(fst x, 1)]) end
                | _ => if pat_most x r 0 then Some (plain_form (0, [])) else if pat_most (pscale (-1) x) r 0 then Some x else None end)
      (pabove r) (fun x y => pabove r (padd x (pscale (-1) y)) 0) (@quick_entry pform).

Lemma peval_plain f n : peval (plain_form f) n == eval f n.
Proof. unfold peval, plain_form. cbn. ring. Qed.
Lemma pabove_ok r n x w d : inreg n r -> peval x n == w -> orel eq (pabove r x d) (Some (negb (Qle_bool w d))).
Proof.
  intros I E. destruct x as [f [|p ps]]; unfold pabove; cbn [fst snd].
  - change (peval (plain_form f) n == w) in E. rewrite peval_plain in E. exact (form_above_ok d I E).
  - destruct (pat_most _ r d) eqn:A; [|destruct (pexceeds _ r d) eqn:B; [|apply orel_none]]; apply orel_some.
    + pose proof (pat_most_ok _ _ A I) as J. rewrite E in J. apply Qle_bool_iff in J. now rewrite J.
    + pose proof (pexceeds_ok _ _ B I) as J. rewrite E in J. destruct (Qle_bool w d) eqn:L; auto. apply Qle_bool_iff in L. lra.
Qed.
Lemma pforms_ok r n : inreg n r -> related (pforms r) rational (pmeans n).
Proof.
  intros I. pose proof (forms_ok I) as K. split; unfold pmeans; cbn [pforms rational const sum gated].
  - intros. apply orel_some. rewrite peval_plain, eval_const. apply Qred_correct.
  - intros b l m L. apply orel_some. induction L as [|[c x] [d w] l m [E F] ? IH]; cbn [fold_right fst snd] in *.
    + rewrite peval_plain, eval_const. apply Qred_correct.
    + rewrite padd_ok, pscale_ok, IH, E, F. reflexivity.
  - assert (C : forall c z w u x' w', peval ((c, []), []) n == z -> peval x' n == w -> peval w' n == u ->
      peval (padd (pscale c x') w') n == z * w + u).
    { intros c z w u x' w' A B D. change (peval (plain_form (c, [])) n == z) in A. rewrite peval_plain, eval_const in A.
      rewrite padd_ok, pscale_ok, A, B, D. reflexivity. }
    intros [[c [|x l]] [|p ps]] w [[d [|y m]] [|q qs]] w' z z' E E' E''; cbv beta iota; try apply orel_none; apply orel_some;
      try (apply C; assumption); (rewrite Qmult_comm; apply C; assumption).
  - intros x w E. cbn [relu rational]. cbn [pforms relu]. destruct x as [f [|p ps]]; cbn [fst snd].
    + change (peval (plain_form f) n == w) in E. rewrite peval_plain in E. pose proof (Rrelu K f w E) as R.
      destruct (relu (forms r) f) as [g|].
      * destruct (R g eq_refl) as (q & Eq & M). cbn in Eq. injection Eq as <-. apply orel_some. now rewrite peval_plain.
      * apply orel_some. unfold peval. cbn [fst snd parts]. rewrite eval_const. unfold positive_part. rewrite (Qle_bool_proper _ E).
        destruct (Qle_bool w 0); [ring|rewrite E; ring].
    + destruct (pat_most _ r 0) eqn:A; [|destruct (pat_most (pscale _ _) r 0) eqn:B; [|apply orel_none]]; apply orel_some.
      * rewrite peval_plain, eval_const. symmetry. apply relu_le. rewrite <- E. eapply pat_most_ok; eauto.
      * pose proof (pat_most_ok _ _ B I) as J. rewrite pscale_ok, E in J. rewrite E. symmetry. apply relu_ge. lra.
  - intros x w d E. exact (pabove_ok d I E).
  - intros x w y z E F. cbn [greater rational pforms]. rewrite <- Qle_bool_minus. apply (pabove_ok _ I).
    now rewrite padd_ok, pscale_ok, E, F.
  - now apply quick_rel.
Qed.

(* states with and without parts *)
Definition with_parts : states form -> states pform := map (map plain_form).
Definition without_parts : states pform -> option (states form) :=
  traverse (traverse (fun x => match snd x with [] => Some (fst x) | _ => None end)).
Lemma with_parts_ok n fs hs : Forall2 (Forall2 (means n)) fs hs -> Forall2 (Forall2 (pmeans n)) (with_parts fs) hs.
Proof.
  induction 1 as [|f h fs hs F ? IH]; cbn; constructor; auto. clear -F. induction F; cbn; constructor; auto.
  unfold pmeans, means in *. now rewrite peval_plain.
Qed.
Lemma traverse_means {A B C} (R : A -> C -> Prop) (R' : B -> C -> Prop) f l m xs :
  (forall a b x, f a = Some b -> R a x -> R' b x) -> traverse f l = Some m -> Forall2 R l xs -> Forall2 R' m xs.
Proof.
  intros K E L. revert m E. induction L as [|a x l xs Rx ? IH]; cbn; intros m E; [injection E as <-; constructor|].
  destruct (f a) as [b|] eqn:F; cbn in E; [|discriminate]. destruct (traverse f l) as [bs|]; cbn in E; [|discriminate].
  injection E as <-. constructor; eauto.
Qed.
Lemma without_parts_ok n xs fs hs : without_parts xs = Some fs -> Forall2 (Forall2 (pmeans n)) xs hs -> Forall2 (Forall2 (means n)) fs hs.
Proof.
  unfold without_parts. apply traverse_means. intros a b x. apply traverse_means. intros [f [|? ?]] g q; cbn [fst snd]; [|discriminate].
  intros E P; injection E as <-. change (peval (plain_form f) n == q) in P. rewrite peval_plain in P. exact P.
Qed.
