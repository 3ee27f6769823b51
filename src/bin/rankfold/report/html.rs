//! The few HTML elements of a page, with text from files escaped.

const STYLE: &str = "\
:root{color-scheme:light}
body{font:16px/1.5 Helvetica,Arial,'DejaVu Sans','Liberation Sans',sans-serif;color:#111;background:#fff;margin:0 auto;\
max-width:62rem;padding:1.5rem}
h1{font-size:1.7rem;margin:0 0 .2rem}
h2{font-size:1.25rem;margin:2.4rem 0 .6rem;border-bottom:1px solid #bfbfbf;padding-bottom:.2rem}
nav a{margin-right:1rem}
a{color:#00588a}
figure{margin:1.2rem 0;overflow-x:auto}
figure svg{max-width:100%;height:auto;display:block}
figcaption,.small{color:#4d4d4d;font-size:.875rem}
table{border-collapse:collapse;font-size:.875rem;margin:.8rem 0}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #e2e2e2}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}
dt{color:#4d4d4d}dd{margin:0;overflow-wrap:anywhere}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}
.tile{border:1px solid #bfbfbf;border-radius:4px;padding:.5rem .9rem}
.tile b{display:block;font-size:1.25rem}
.note{border-left:4px solid #d55e00;padding:.1rem .8rem;margin:.5rem 0}
@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}figure,table{break-inside:avoid}nav{display:none}}
";

/// Returns a whole page with this title and content.
pub fn page(title: &str, content: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{content}</body>\n</html>\n",
        escaped(title)
    )
}

/// Escapes a text for use between tags or in an attribute.
pub fn escaped(text: &str) -> String {
    let letter = |letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(letter).collect()
}

pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// Returns a figure or, if it is missing, the reason.
pub fn figure(id: &str, svg: Option<String>, caption: &str, missing: &str) -> String {
    match svg {
        Some(svg) => format!(
            "<figure id=\"{id}\">\n{svg}<figcaption>{}</figcaption>\n</figure>\n",
            escaped(caption)
        ),
        None => paragraph(missing),
    }
}

/// Returns a table; columns from `numbers` on are numbers.
pub fn table(heads: &[String], rows: &[Vec<String>], numbers: usize) -> String {
    let class = |at: usize| if at >= numbers { " class=\"n\"" } else { "" };
    let line = |tag: &str, cells: &[String]| {
        let cells = cells.iter().enumerate();
        let cells =
            cells.map(|(at, cell)| format!("<{tag}{}>{}</{tag}>", class(at), escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let body: String = rows.iter().map(|row| line("td", row)).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead>{}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n",
        line("th", heads)
    )
}

pub fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns a list of names and their meanings.
pub fn definitions(items: &[(&str, String)]) -> String {
    let item = |(name, text): &(&str, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(text))
    };
    format!(
        "<dl>\n{}</dl>\n",
        items.iter().map(item).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_file_says_becomes_a_tag() {
        assert_eq!(escaped("<script>\"&"), "&lt;script&gt;&quot;&amp;");
    }
}
