import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.languagetool.Languages;
import org.languagetool.MultiThreadedJLanguageTool;
import org.languagetool.markup.AnnotatedText;
import org.languagetool.markup.AnnotatedTextBuilder;
import org.languagetool.rules.RuleMatch;

/**
 * Checks grammar and spelling: java Prose.java WORDS RIGHT FILE... It prints a line for each error, and ends with 1 if there is
 * one. The names of files without an error go to the file RIGHT.
 *
 * <p>Of a page it reads what is neither code nor a target of a link, and of other files the comments for readers ({@code ///}).
 * WORDS has the words of the trade, one in a line.
 */
final class Prose {
    /** Rules that are more often wrong than right here, each with what it takes for an error. */
    private static final Set<String> UNUSED = Set.of(
            "A_INFINITIVE", // "a write"
            "AFTERWARDS_US", // A matter of taste, as are commas between short sentences.
            "AGREEMENT_SENT_START", // "No event and no deletion is lost"
            "AGREEMENT_SENT_START_2",
            "ATD_VERBS_TO_COLLOCATION", // "a server-side apply"
            "COMMA_COMPOUND_SENTENCE",
            "COMMA_COMPOUND_SENTENCE_2",
            "COMMA_PARENTHESIS_WHITESPACE", // "info,hook=debug"
            "CONSECUTIVE_SPACES", // Tables.
            "DOUBLE_NEGATIVE", // "a filter that could not run hides nothing"
            "EN_COMPOUNDS_HAND_WRITTEN", // Code that no machine wrote.
            "ENGLISH_WORD_REPEAT_BEGINNING_RULE", // Lists.
            "HAVE_PART_AGREEMENT", // "has cosign's format"
            "ID_CASING", // The field of that name.
            "IT_IS", // "Its kind." in a cell
            "KIND_OF_A", // "the type of a metric"
            "MISSING_TO_BETWEEN_BE_AND_VB", // "while the hook is busy come together"
            "NOUN_APOSTROPHE_S_VERB", // "Helm's install"
            "NOUN_AROUND_IT",
            "PCT_PLURAL_NOUN_SINGULAR_VERB_AGREEMENT", // "the operator loads hooks"
            "PHRASE_REPETITION", // Cells.
            "PLURAL_THAT_AGREEMENT", // "the kernel reports who connects"
            "POSSESSIVE_APOSTROPHE", // "the hooks directory"
            "PREPOSITION_VERB", // "a create"
            "QUESTION_MARK", // "So if …"
            "RELATIVE_CLAUSE_AGREEMENT", // The same.
            "REPEATED_VERBS", // "start-up runs run"
            "SENT_START_CONJUNCTIVE_LINKING_ADVERB_COMMA", // "Also kube-system" in a cell
            "SUBJECT_VERB_AGREEMENT_PLURAL", // "The page [languages] compares"
            "THE_SUPERLATIVE", // "oldest first"
            "TO_TOO", // "nothing to `await`"
            "UNNECESSARY_COMMA", // "A Service, and the address that replaces it"
            "UPPERCASE_SENTENCE_START", // Cells, and names in lower case.
            "VERB_APOSTROPHE_S", // "cosign's"
            "WHITESPACE_RULE"); // Indented text.

    private static final Pattern NAME = Pattern.compile(".*[0-9_/.:@=-].*|.*\\p{Ll}\\p{Lu}.*|\\$?\\p{Lu}+s?");
    /** Begins a paragraph of its own: a heading, an item, a quotation, a cell. */
    private static final Pattern BREAK = Pattern.compile("\\s*(?:#+ |[-*] |\\d+\\. |> |\\|).*| \\| ");
    private static final Pattern MARKUP = Pattern.compile(
            "^\\s*(?:#+ |[-*] |\\d+\\. |> |\\|)|\\|\\s*$| \\| |``.+?``|`[^`]+`|\\]\\([^)]*\\)|!?\\[|\\]|<?https?://\\S+|\\*\\*"
                    + "|(?<![\\w*])[*_](?=\\w)|(?<=\\w)[*_](?![\\w*])|</?[a-z]+[^>]*>|\\{\\{[^}]*\\}\\}");
    private static final Pattern COMMENT = Pattern.compile("^\\s*//[/!] ?");

    private Prose() {}

    public static void main(String[] arguments) throws IOException {
        Set<String> words = Files.readAllLines(Path.of(arguments[0])).stream().collect(Collectors.toSet());
        var tool = new MultiThreadedJLanguageTool(Languages.getLanguageForShortCode("en-US"));
        tool.disableRules(new ArrayList<>(UNUSED));
        boolean wrong = false;
        for (String file : List.of(arguments).subList(2, arguments.length)) {
            boolean found = false;
            String text = Files.readString(Path.of(file));
            boolean page = file.endsWith(".md") || file.endsWith(".md.in");
            for (RuleMatch match : tool.check(page ? page(text) : comments(text))) {
                String what = text.substring(match.getFromPos(), Math.min(match.getToPos(), text.length()));
                boolean spelling = match.getRule().isDictionaryBasedSpellingRule();
                // Code that stands for itself is neither misspelled nor repeated.
                if (what.contains("`") || what.contains("{{") || spelling && (words.contains(what) || NAME.matcher(what).matches())) {
                    continue;
                }
                found = true;
                long line = 1 + text.substring(0, match.getFromPos()).chars().filter(c -> c == '\n').count();
                String better = String.join(", ", match.getSuggestedReplacements().stream().limit(2).toList());
                String message = match.getMessage().replaceAll("</?suggestion>", "\"").replaceAll("\\s+", " ");
                System.out.printf("%s:%d: \"%s\": %s (%s%s)%n", file, line, what.replaceAll("\\s+", " "), message,
                        match.getRule().getId(), better.isEmpty() ? "" : ": " + better);
            }
            wrong |= found;
            if (!found) {
                Files.writeString(Path.of(arguments[1]), file + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            }
        }
        tool.shutdown();
        System.exit(wrong ? 1 : 0);
    }

    private static AnnotatedText page(String text) {
        var built = new AnnotatedTextBuilder();
        boolean fenced = false;
        boolean blank = true;
        boolean indented = false;
        for (String line : text.split("(?<=\n)")) {
            boolean fence = line.strip().startsWith("```");
            // Code by its indentation follows a blank line, and is not in a list.
            indented = line.startsWith("    ") && (blank || indented) && !line.isBlank();
            blank = line.isBlank();
            fenced ^= fence;
            if (fenced || fence || indented || line.startsWith("<!--") || line.matches("\\|[-| :]+\\|\n?")) {
                built.addMarkup(line, "\n\n");
            } else {
                line(built, line);
            }
        }
        return built.build();
    }

    private static AnnotatedText comments(String text) {
        var built = new AnnotatedTextBuilder();
        for (String line : text.split("(?<=\n)")) {
            var comment = COMMENT.matcher(line);
            if (comment.find()) {
                built.addMarkup(comment.group(), "");
                line(built, line.substring(comment.end()));
            } else {
                built.addMarkup(line, "\n\n");
            }
        }
        return built.build();
    }

    private static void line(AnnotatedTextBuilder built, String line) {
        var markup = MARKUP.matcher(line);
        int at = 0;
        while (markup.find()) {
            if (markup.start() > at) {
                built.addText(line.substring(at, markup.start()));
            }
            built.addMarkup(markup.group(), said(markup.group(), line.substring(0, markup.start())));
            at = markup.end();
        }
        if (at < line.length()) {
            built.addText(line.substring(at));
        }
        if (line.startsWith("#")) {
            built.addMarkup("", "\n\n");
        }
    }

    /** What stands for the markup in the sentence: for code a name, with a vowel after "an". */
    private static String said(String markup, String before) {
        if (markup.startsWith("`") || markup.contains("://") || markup.startsWith("{{")) {
            return before.matches("(?i)(.*\\W)?an ") ? "Item" : "Boathook";
        }
        return BREAK.matcher(markup).matches() ? "\n\n" : "";
    }
}
