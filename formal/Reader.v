(* Specification: from the bytes of a network file and a language file to the records of Network.v.

   With Network.v this is what has to be believed of a theorem about files.  Every function returns None where the
   text is not what it should be; a key that is unknown, missing or given twice, a name that is not on the stream, a
   column out of range and a list of the wrong length are all refused, as the Python kernel refuses them. *)
From Coq Require Import QArith ZArith List Bool String Ascii.
From Nerode Require Import Network.
Import ListNotations.
Local Open Scope string_scope.

(* ---- JSON ---- *)

(* Numbers that are not whole are read over (JOther): no key that counts has one. *)
Inductive json :=
| JNull | JBool (b : bool) | JNum (z : Z) | JOther | JStr (s : string) | JArr (l : list json) | JObj (l : list (string * json)).

Definition code (c : ascii) : Z := Z.of_N (N_of_ascii c).
Definition digit (c : ascii) : option Z :=
  let n := code c in if (48 <=? n)%Z && (n <=? 57)%Z then Some (n - 48)%Z else None.
Fixpoint digits (s : string) (acc : Z) : Z * string :=
  match s with
  | String c r => match digit c with Some d => digits r (acc * 10 + d)%Z | None => (acc, s) end
  | EmptyString => (acc, s)
  end.
Fixpoint rest_of_number (s : string) : string :=          (* a fraction and an exponent, read over *)
  match s with
  | String c r =>
      if existsb (Ascii.eqb c) ["."; "e"; "E"; "+"; "-"]%char then rest_of_number r
      else match digit c with Some _ => rest_of_number r | None => s end
  | EmptyString => s
  end.
Definition number (s : string) (sign : Z) : option (json * string) :=
  match s with
  | String c r =>
      d <- digit c ;;
      match d, match r with String e _ => digit e | EmptyString => None end with
      | 0%Z, Some _ => None                                (* no number begins with 0 and another digit *)
      | _, _ =>
          let p := digits r d in
          match snd p with
          | String e _ => if existsb (Ascii.eqb e) ["."; "e"; "E"]%char then Some (JOther, rest_of_number (snd p))
                          else Some (JNum (sign * fst p), snd p)
          | EmptyString => Some (JNum (sign * fst p), snd p)
          end
      end
  | EmptyString => None
  end.
Definition hex (c : ascii) : option Z :=
  let n := code c in
  match digit c with
  | Some d => Some d
  | None => if (97 <=? n)%Z && (n <=? 102)%Z then Some (n - 87)%Z
            else if (65 <=? n)%Z && (n <=? 70)%Z then Some (n - 55)%Z else None
  end.
Definition byte (z : Z) : ascii := ascii_of_N (Z.to_N z).
Definition utf8 (n : Z) : option (list ascii) :=           (* in reverse; not for halves of surrogate pairs *)
  if (n <? 128)%Z then Some [byte n]
  else if (n <? 2048)%Z then Some [byte (128 + n mod 64); byte (192 + n / 64)]
  else if (55296 <=? n)%Z && (n <? 57344)%Z then None
  else Some [byte (128 + n mod 64); byte (128 + n / 64 mod 64); byte (224 + n / 4096)].
Definition escape (c : ascii) : option ascii :=
  if Ascii.eqb c """" then Some c else if Ascii.eqb c "\" then Some c else if Ascii.eqb c "/" then Some c
  else if Ascii.eqb c "n" then Some "010"%char else if Ascii.eqb c "t" then Some "009"%char
  else if Ascii.eqb c "r" then Some "013"%char else if Ascii.eqb c "b" then Some "008"%char
  else if Ascii.eqb c "f" then Some "012"%char else None.
Fixpoint chars (s : string) (acc : list ascii) : option (string * string) :=    (* to the closing quote *)
  match s with
  | String c r =>
      if Ascii.eqb c """" then Some (string_of_list_ascii (rev_append acc []), r)
      else if Ascii.eqb c "\" then
        match r with
        | String "u" (String h1 (String h2 (String h3 (String h4 r)))) =>
            a <- hex h1 ;; b <- hex h2 ;; c <- hex h3 ;; d <- hex h4 ;;
            u <- utf8 (((a * 16 + b) * 16 + c) * 16 + d)%Z ;; chars r (u ++ acc)%list
        | String e r => e <- escape e ;; chars r (e :: acc)
        | EmptyString => None
        end
      else if (code c <? 32)%Z then None else chars r (c :: acc)
  | EmptyString => None
  end.
Fixpoint blank (s : string) : string :=                     (* without white space at the beginning *)
  match s with
  | String c r => if existsb (Ascii.eqb c) [" "; "009"; "010"; "013"]%char then blank r else s
  | EmptyString => s
  end.
Definition fresh (k : string) (l : list (string * json)) : bool := negb (existsb (fun p => String.eqb k (fst p)) l).
(* `fuel` is never used up: it is the length of the text. *)
Fixpoint value (fuel : nat) (s : string) {struct fuel} : option (json * string) :=
  match fuel with
  | O => None
  | S fuel =>
      match blank s with
      | String "{" r =>
          match blank r with String "}" r => Some (JObj [], r) | r => p <- members fuel r [] ;; Some (JObj (fst p), snd p) end
      | String "[" r =>
          match blank r with String "]" r => Some (JArr [], r) | r => p <- elements fuel r [] ;; Some (JArr (fst p), snd p) end
      | String """" r => p <- chars r [] ;; Some (JStr (fst p), snd p)
      | String "t" (String "r" (String "u" (String "e" r))) => Some (JBool true, r)
      | String "f" (String "a" (String "l" (String "s" (String "e" r)))) => Some (JBool false, r)
      | String "n" (String "u" (String "l" (String "l" r))) => Some (JNull, r)
      | String "-" r => number r (-1)
      | r => number r 1
      end
  end
with elements (fuel : nat) (s : string) (acc : list json) {struct fuel} : option (list json * string) :=
  match fuel with
  | O => None
  | S fuel =>
      p <- value fuel s ;;
      match blank (snd p) with
      | String "," r => elements fuel r (fst p :: acc)
      | String "]" r => Some (rev_append (fst p :: acc) [], r)
      | _ => None
      end
  end
with members (fuel : nat) (s : string) (acc : list (string * json)) {struct fuel} : option (list (string * json) * string) :=
  match fuel with
  | O => None
  | S fuel =>
      match blank s with
      | String """" r =>
          k <- chars r [] ;;
          match blank (snd k) with
          | String ":" r =>
              p <- value fuel r ;;
              if fresh (fst k) acc then
                match blank (snd p) with
                | String "," r => members fuel r ((fst k, fst p) :: acc)
                | String "}" r => Some (rev_append ((fst k, fst p) :: acc) [], r)
                | _ => None
                end
              else None
          | _ => None
          end
      | _ => None
      end
  end.
Fixpoint length_of (s : string) (n : nat) : nat := match s with EmptyString => n | String _ r => length_of r (S n) end.
Definition parse (s : string) : option json :=
  p <- value (S (length_of s 0)) s ;; match blank (snd p) with EmptyString => Some (fst p) | _ => None end.

(* ---- parts of objects ---- *)

Definition require (b : bool) : option unit := if b then Some tt else None.
Definition member (s : string) (l : list string) : bool := existsb (String.eqb s) l.
(* the object has all the wanted keys, and no others than the optional ones *)
Definition keys (wanted optional : list string) (j : json) : option unit :=
  match j with
  | JObj l => require (forallb (fun p => member (fst p) wanted || member (fst p) optional) l &&
                       forallb (fun k => member k (map fst l)) wanted)
  | _ => None
  end.
Fixpoint lookup (k : string) (l : list (string * json)) : option json :=
  match l with [] => None | (x, v) :: l => if String.eqb k x then Some v else lookup k l end.
Definition field (k : string) (j : json) : option json := match j with JObj l => lookup k l | _ => None end.
Definition arr (j : json) : option (list json) := match j with JArr l => Some l | _ => None end.
Definition text (j : json) : option string := match j with JStr s => Some s | _ => None end.
Definition flag (j : json) : option bool := match j with JBool b => Some b | _ => None end.
Definition integer (j : json) : option Z := match j with JNum z => Some z | _ => None end.
(* below 2^31, so that machine integers hold it in the extracted program *)
Definition natural (j : json) : option nat :=
  match j with
  | JNum z => if (0 <=? z)%Z && (z <? 2147483648)%Z then Some (Z.to_nat z) else None
  | _ => None
  end.
Definition state_number (j : json) : option N := match j with JNum (Zneg _) => None | JNum z => Some (Z.to_N z) | _ => None end.
Definition list_of {A} (f : json -> option A) (j : json) : option (list A) := l <- arr j ;; traverse f l.
Definition exactly {A} (n : nat) (l : list A) : option unit := require (Nat.eqb (List.length l) n).
Definition lists_of {A} (n : nat) (f : json -> option A) (j : json) : option (list A) :=
  l <- list_of f j ;; _ <- exactly n l ;; Some l.
Fixpoint distinct (l : list string) : bool := match l with [] => true | x :: l => negb (member x l) && distinct l end.
Definition names (j : json) : option (list string) := l <- list_of text j ;; _ <- require (distinct l) ;; Some l.
Definition is (k : string) (v : string) (j : json) : option unit := x <- field k j ;; x <- text x ;; require (x =? v).
Definition version_1 (j : json) : option unit := v <- field "version" j ;; v <- integer v ;; require (Z.eqb v 1).

Definition fraction (s : string) : option Q :=              (* -3, 3/4 *)
  let '(neg, s) := match s with String "-" r => (true, r) | _ => (false, s) end in
  match s with
  | String c _ => _ <- digit c ;;
      let p := digits s 0 in
      let n := if neg : bool then (- fst p)%Z else fst p in
      match snd p with
      | EmptyString => Some (n # 1)
      | String "/" (String e _ as r) => _ <- digit e ;; let q := digits r 0 in
          match fst q, snd q with Zpos m, EmptyString => Some (n # m) | _, _ => None end
      | _ => None
      end
  | _ => None
  end.
Definition num (j : json) : option Q := match j with JNum z => Some (z # 1) | JStr s => fraction s | _ => None end.
Fixpoint index (s : string) (l : list string) : option nat :=
  match l with [] => None | x :: l => if String.eqb s x then Some O else i <- index s l ;; Some (S i) end.

(* ---- affine maps ---- *)

Definition entry (width : nat) (j : json) : option (nat * Q) :=
  l <- arr j ;;
  match l with
  | [i; c] => i <- natural i ;; c <- num c ;; _ <- require (Nat.ltb i width) ;; Some (i, c)
  | _ => None
  end.
Fixpoint increasing (least : nat) (l : list (nat * Q)) : bool :=      (* columns increase, no coefficient is 0 *)
  match l with [] => true | (i, c) :: l => Nat.leb least i && negb (Qeq_bool c 0) && increasing (S i) l end.
Definition rows_of (inputs : nat) (j : json) : option affine_map :=
  _ <- keys ["inputs"; "bias"; "rows"] [] j ;;
  n <- field "inputs" j ;; n <- natural n ;; _ <- require (Nat.eqb n inputs) ;;
  b <- field "bias" j ;; b <- list_of num b ;;
  r <- field "rows" j ;; r <- list_of (list_of (entry inputs)) r ;; _ <- require (forallb (increasing 0) r) ;;
  zip (fun c ts => Some (Row c ts)) b r.
Definition map_of (inputs outputs : nat) (j : json) : option affine_map :=
  m <- rows_of inputs j ;; _ <- exactly outputs m ;; Some m.
Fixpoint distinct_columns (l : list (nat * Q)) : bool :=
  match l with [] => true | (i, _) :: l => negb (existsb (fun p => Nat.eqb i (fst p)) l) && distinct_columns l end.
Definition matrix (width : nat) (j : json) : option (list (list (nat * Q))) :=
  m <- lists_of width (list_of (entry width)) j ;; _ <- require (forallb distinct_columns m) ;; Some m.
(* columns of a matrix come after the inputs of the layer, see `table ++ h` in Network.v *)
Definition moved (offset : nat) (ts : list (nat * Q)) := map (fun t => ((offset + fst t)%nat, snd t)) ts.
Definition joined (offset : nat) (m : list (list (nat * Q))) (w : list Q) : option affine_map :=
  zip (fun ts c => Some (Row c (moved offset ts))) m w.
Definition factor (width : nat) (j : json) : option (Q * list Q) :=
  _ <- keys ["beta"; "vector"] [] j ;; b <- field "beta" j ;; b <- num b ;; v <- field "vector" j ;; v <- lists_of width num v ;;
  _ <- require (negb (Qeq_bool (square v) 0)) ;; Some (b, v).

(* ---- layers ---- *)

(* Heads: `previous` holds 0, `mean` 1, `once` holds where its value is 0; strict ones are checked at every step. *)
Definition opposite (x y : row) : bool :=
  Qeq_bool (bias x + bias y) 1 && Nat.eqb (List.length (terms x)) (List.length (terms y)) &&
  forallb (fun p => Nat.eqb (fst (fst p)) (fst (snd p)) && Qeq_bool (snd (fst p) + snd (snd p)) 0) (combine (terms x) (terms y)).
Definition the_head (k : string) (p : row * row) : option bool :=
  let hold := fst p in
  let constant q := require (Qeq_bool (bias hold) q && match terms hold with [] => true | _ => false end) in
  if k =? "last" then Some true
  else if k =? "once" then _ <- require (opposite hold (snd p)) ;; Some true
  else if k =? "previous" then _ <- constant 0%Q ;; Some true
  else if k =? "mean" then _ <- constant 1%Q ;; Some false
  else None.
Definition the_move (letters inputs width : nat) (j : json) : option move :=
  k <- field "kind" j ;; k <- text k ;;
  let rows key := m <- field key j ;; map_of inputs width m in
  let writes := w <- field "writes" j ;; list_of (lists_of width num) w in
  let chosen ms w :=                                         (* by the letter, or by the selector *)
    match field "selector" j with
    | Some s => s <- map_of inputs (List.length w) s ;; ms <- zip (joined inputs) ms w ;; Some (BySelector s ms)
    | None => _ <- exactly letters w ;; ms <- zip (joined inputs) ms w ;; Some (ByLetter ms)
    end in
  if k =? "diagonal" then
    _ <- keys ["kind"; "gate"; "write"] [] j ;; g <- rows "gate" ;; w <- rows "write" ;; Some (Gated g w)
  else if k =? "attention" then
    _ <- keys ["kind"; "heads"; "hold"; "values"] [] j ;; h <- field "heads" j ;; h <- list_of text h ;;
    g <- rows "hold" ;; w <- rows "values" ;; gw <- zip (fun x y => Some (x, y)) g w ;;
    s <- zip the_head h gw ;; Some (Attention s g w)
  else if k =? "time-invariant" then
    _ <- keys ["kind"; "matrix"; "write"] [] j ;; m <- field "matrix" j ;; m <- matrix width m ;; w <- rows "write" ;;
    r <- zip (fun ts x => Some (Row (bias x) (terms x ++ moved inputs ts)%list)) m w ;; Some (Affine Linear r)
  else if k =? "elman" then
    _ <- keys ["kind"; "activation"; "update"] [] j ;; u <- field "update" j ;; u <- map_of (inputs + width) width u ;;
    a <- field "activation" j ;; a <- text a ;;
    (if a =? "relu" then Some (Affine Relu u) else if a =? "clip" then Some (Affine Clip u) else None)
  else if k =? "householder" then
    _ <- keys ["kind"; "factors"; "writes"] [] j ;; w <- writes ;; _ <- exactly letters w ;;
    f <- field "factors" j ;; f <- lists_of letters (list_of (factor width)) f ;; Some (Reflections f w)
  else if k =? "letter-matrices" then
    _ <- keys ["kind"; "matrices"; "writes"] ["selector"] j ;; w <- writes ;;
    m <- field "matrices" j ;; m <- list_of (matrix width) m ;; chosen m w
  else if k =? "permutation-diagonal" then
    _ <- keys ["kind"; "images"; "diagonals"; "writes"] [] j ;; w <- writes ;;
    im <- field "images" j ;; im <- list_of (lists_of width natural) im ;;
    d <- field "diagonals" j ;; d <- list_of (lists_of width num) d ;;
    _ <- require (forallb (forallb (fun i => Nat.ltb i width)) im) ;;
    ps <- zip (fun i d => zip (fun i d => Some (i, d)) i d) im d ;;
    chosen (map (fun p => map (fun i =>                      (* column j has its entry in row images[j] *)
      flat_map (fun jp => if Nat.eqb (fst (snd jp)) i then [(fst jp, snd (snd jp))] else []) (combine (seq 0 width) p))
      (seq 0 width)) ps) w
  else None.
Definition the_layer (letters : nat) (stream : list string) (j : json) : option (layer * list string) :=
  _ <- keys ["name"; "reads"; "state"; "start"; "units"; "recurrence"; "readout_units"; "outputs"; "readout";
             "exposes_previous"; "complex_state"] ["functions"; "quotients"] j ;;
  r <- field "reads" j ;; r <- list_of text r ;; ri <- traverse (fun s => index s stream) r ;;
  st <- field "state" j ;; st <- names st ;; let width := List.length st in
  s <- field "start" j ;; s <- lists_of width num s ;;
  u <- field "units" j ;; u <- rows_of (List.length r) u ;;
  m <- field "recurrence" j ;; m <- the_move letters (List.length r + List.length u) width m ;;
  e <- field "exposes_previous" j ;; e <- flag e ;;
  c <- field "complex_state" j ;; c <- flag c ;; _ <- require (negb c) ;;
  let inside := (List.length r + width + (if e then width else 0))%nat in
  ru <- field "readout_units" j ;; ru <- rows_of inside ru ;;
  o <- field "outputs" j ;; o <- names o ;; _ <- require (forallb (fun x => negb (member x stream)) o) ;;
  ro <- field "readout" j ;; ro <- map_of (inside + List.length ru) (List.length o) ro ;;
  _ <- match field "functions" j with
       | None => Some tt
       | Some fs => fs <- lists_of (List.length ru) text fs ;; require (forallb (String.eqb "relu") fs)
       end ;;
  _ <- match field "quotients" j with None => Some tt | Some q => q <- flag q ;; require (negb q) end ;;
  Some (Layer ri s u m e ru ro, (stream ++ o)%list).
Fixpoint the_layers (letters : nat) (stream : list string) (l : list json) : option (list layer * list string) :=
  match l with
  | [] => Some ([], stream)
  | j :: l => p <- the_layer letters stream j ;; q <- the_layers letters (snd p) l ;; Some (fst p :: fst q, snd q)
  end.

(* ---- the files ---- *)

Definition letter_ok (s : string) : bool :=
  negb (s =? "") && negb (s =? "$") &&
  forallb (fun c => (32 <? code c)%Z && negb (code c =? 127)%Z) (list_ascii_of_string s).
Definition the_letters (j : json) : option (list string) :=
  l <- names j ;; _ <- require (forallb letter_ok l) ;; Some l.
Definition the_answer (alphabet : list string) (j : json) : option answer :=
  l <- names j ;; let all := (alphabet ++ ["$"])%list in
  _ <- require (forallb (fun s => member s all) l) ;; Some (map (fun a => member a l) all).
Definition the_decoder (alphabet stream : list string) (j : json) : option (decoder * answer) :=
  k <- field "kind" j ;; k <- text k ;;
  r <- field "reads" j ;; r <- list_of text r ;; ri <- traverse (fun s => index s stream) r ;; let n := List.length r in
  e <- field "empty" j ;; e <- the_answer alphabet e ;;
  if k =? "scores" then
    _ <- keys ["kind"; "reads"; "empty"; "units"; "scores"] [] j ;; u <- field "units" j ;; u <- rows_of n u ;;
    s <- field "scores" j ;; s <- map_of (n + List.length u) (S (List.length alphabet)) s ;; Some (Scores ri u s, e)
  else if k =? "points" then
    _ <- keys ["kind"; "reads"; "empty"; "points"; "answers"] [] j ;;
    p <- field "points" j ;; p <- list_of (lists_of n num) p ;; _ <- require (negb (Nat.eqb (List.length p) 0)) ;;
    a <- field "answers" j ;; a <- list_of (the_answer alphabet) a ;;
    ps <- zip (fun p a => Some (p, a)) p a ;; Some (Points ri ps, e)
  else None.
(* the network, and the names of its letters *)
Definition read_network (bytes : string) : option (network * list string) :=
  j <- parse bytes ;;
  _ <- keys ["format"; "version"; "alphabet"; "target"; "embedding"; "layers"; "decoder"; "origin"] [] j ;;
  _ <- is "format" "nerode-network" j ;; _ <- version_1 j ;;
  a <- field "alphabet" j ;; a <- the_letters a ;; let n := List.length a in
  e <- field "embedding" j ;; _ <- keys ["directions"; "vectors"] [] e ;;
  d <- field "directions" e ;; d <- names d ;;
  v <- field "vectors" e ;; v <- lists_of n (lists_of (List.length d) num) v ;;
  l <- field "layers" j ;; l <- arr l ;; l <- the_layers n d l ;;
  de <- field "decoder" j ;; de <- the_decoder a (snd l) de ;;
  Some (Network n v (fst l) (fst de) (snd de), a).

Inductive language :=
| Automaton (D : dfa) | Brackets (kinds : nat) (depth : option nat) | Counting (C : counter_machine).

Definition the_automaton (j : json) : option (language * list string) :=
  _ <- keys ["form"; "alphabet"; "start"; "accepting"; "transitions"] [] j ;;
  a <- field "alphabet" j ;; a <- the_letters a ;;
  t <- field "transitions" j ;; t <- list_of (lists_of (List.length a) state_number) t ;;
  s <- field "start" j ;; s <- state_number s ;; c <- field "accepting" j ;; c <- list_of state_number c ;;
  let n := N.of_nat (List.length t) in
  _ <- require (forallb (fun q => N.ltb q n) (s :: c) && forallb (forallb (fun q => N.ltb q n)) t) ;;
  Some (Automaton (Dfa (List.length a) t s c), a).
Definition the_brackets (j : json) : option (language * list string) :=
  _ <- keys ["form"; "pairs"; "depth"] [] j ;;
  p <- field "pairs" j ;; p <- list_of (lists_of 2 text) p ;;
  let a := List.concat p in
  _ <- require (distinct a && forallb letter_ok a && negb (Nat.eqb (List.length p) 0)) ;;
  d <- field "depth" j ;;
  d <- match d with
       | JNull => Some None
       | d => d <- natural d ;; _ <- require (negb (Nat.eqb d 0)) ;; Some (Some d)
       end ;;
  Some (Brackets (List.length p) d, a).
Definition the_rule (letters counters : nat) (j : json) : option rule :=
  _ <- keys ["after"; "zero"; "positive"; "symbols"; "end"] [] j ;;
  a <- field "after" j ;;
  a <- match a with
       | JNull => Some None
       | l => l <- list_of integer l ;;
              _ <- require (forallb (fun z => (-1 <=? z)%Z && (z <? Z.of_nat letters)%Z) l) ;; Some (Some l)
       end ;;
  z <- field "zero" j ;; z <- list_of natural z ;; p <- field "positive" j ;; p <- list_of natural p ;;
  s <- field "symbols" j ;; s <- list_of natural s ;; e <- field "end" j ;; e <- flag e ;;
  _ <- require (forallb (fun c => Nat.ltb c counters) (z ++ p)%list && forallb (fun a => Nat.ltb a letters) s) ;;
  Some (Rule a z p s e).
Definition the_counters (j : json) : option (language * list string) :=
  _ <- keys ["form"; "alphabet"; "start"; "increments"; "rules"] [] j ;;
  a <- field "alphabet" j ;; a <- the_letters a ;; let n := List.length a in
  s <- field "start" j ;; s <- list_of integer s ;; let k := List.length s in
  i <- field "increments" j ;; i <- lists_of n (lists_of k integer) i ;;
  r <- field "rules" j ;; r <- list_of (the_rule n k) r ;;
  Some (Counting (CounterMachine n s i r), a).
(* the language, and the names of its letters *)
Definition read_language (bytes : string) : option (language * list string) :=
  j <- parse bytes ;;
  _ <- keys ["format"; "version"; "name"; "convention"; "family"; "parameters"; "definition"] [] j ;;
  _ <- is "format" "nerode-language" j ;; _ <- version_1 j ;;
  d <- field "definition" j ;; f <- field "form" d ;; f <- text f ;;
  if f =? "dfa" then the_automaton d
  else if f =? "brackets" then the_brackets d
  else if f =? "counters" then the_counters d
  else None.
