(* nerode-check [--task predict|valid|recognise] [--format exact|FLOAT|FLOAT/scan] [--most CELLS] DIR ...
   FLOAT is float64, float32, bfloat16 or float16: one letter after the other; FLOAT/scan: parallel scans in any grouping.
   nerode-check --batch: the same words, one folder per line of the standard input.

   Reads the network, the language and (for hints) the certificate of each folder, and prints what Check.judge answers.
   Exit code: 0 if all are proved, 1 if one is not, 2 for files that cannot be read or wrong words. *)

let text path =
  let channel = open_in_bin path in
  let content = really_input_string channel (in_channel_length channel) in
  close_in channel;
  List.of_seq (String.to_seq content)

(* The one place that knows the names of the files of a folder. *)
let files folder =
  let path name = Filename.concat folder name in
  let network = path (if Sys.file_exists (path "network.json") then "network.json" else "config.json") in
  (text network, text (path "language.json"),
   if Sys.file_exists (path "certificate.json") then text (path "certificate.json") else [])

let tasks = Checker.[ ("predict", Predict); ("valid", ValidPrefixes); ("recognise", Recognise) ]
let floats = Checker.[ ("float64", binary64); ("float32", binary32); ("bfloat16", bfloat16); ("float16", binary16) ]
let sense name =
  match String.split_on_char '/' name with
  | [ "exact" ] -> Checker.Exactly
  | [ name ] -> Checker.StepByStep (List.assoc name floats)
  | [ name; "scan" ] -> Checker.AnyGrouping (List.assoc name floats)
  | _ -> raise Not_found

let judge task format most folder =
  let network, language, certificate = files folder in
  match Checker.judge (sense format) (List.assoc task tasks) network language certificate most with
  | Checker.Proved -> (0, "proved")
  | Checker.NotProved -> (1, "not proved")
  | Checker.OtherLetters -> (2, "network and language have different letters")
  | Checker.NotReadable file ->
      (2, List.nth [ "network"; "language"; "evidence" ] (file - 1) ^ " is not of a form that this checker reads")

let rec run task format most code = function
  | [] -> code
  | "--task" :: word :: rest -> run word format most code rest
  | "--format" :: word :: rest -> run task word most code rest
  | "--most" :: word :: rest -> run task format (int_of_string word) code rest
  | "--batch" :: rest ->
      let worst = ref code in
      (try
         while true do
           let words = String.split_on_char ' ' (input_line stdin) in
           worst := max !worst (run task format most 0 words)
         done
       with End_of_file -> ());
      run task format most !worst rest
  | folder :: rest ->
      let found, said =
        try judge task format most folder with
        | Sys_error why -> (2, why)
        | Not_found | Failure _ -> (2, "unknown task, format or number")
        | Stack_overflow | Out_of_memory -> (1, "not proved: out of memory")
      in
      Printf.printf "%s (%s, %s): %s\n%!" folder task format said;
      run task format most (max code found) rest

let () =
  match List.tl (Array.to_list Sys.argv) with
  | [] -> prerr_endline "usage: nerode-check [--task T] [--format F] [--most CELLS] DIR ..."; exit 2
  | words -> exit (run "predict" "exact" 100000 0 words)
